"""Apps in simulators, through an imitation of Xcode that starts the real debuggers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator

import pytest

from frontends.mcp.talking import call, connected, on_loop, refusal
from harness import compilers, programs, waits, xcode
from harness.reports import functions
from harness.xcode import BOOTED, SHUT_DOWN, TWICE, Xcode

APP = "com.example.Shop"


@pytest.fixture
def apple(dbg) -> Xcode:
    why = xcode.missing() or compilers.missing(compilers.C)
    if why:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(why)
    return Xcode(dbg)


@pytest.fixture
def launch(project) -> Iterator[Callable[[], int]]:
    """Start the program that plays the app; return its process id."""
    app = programs.compiled(programs.install("endless.c", project))
    running: list[subprocess.Popen[bytes]] = []

    def start() -> int:
        begun = project / f"begun-{len(running)}.txt"
        running.append(subprocess.Popen([app.path, begun], cwd=project))
        waits.wait_for_file(begun, "spinning")
        return running[-1].pid

    yield start
    for process in running:
        assert process.poll() is None, "it was not left alive"
        process.kill()
        process.wait()


def test_an_app_is_joined_by_xcode_s_adapter_looked_into_and_left_alive(dbg, apple, launch):
    pid = launch()
    apple.launch(APP, pid)

    envelope = dbg.envelope("attach", "--simulator", BOOTED, "--bundle-id", APP, "--no-continue")

    report = envelope["data"]
    assert envelope["via"].startswith("lldb-dap ")
    assert (report["state"], report["pid"]) == ("stopped", pid)
    assert f"{APP} runs as pid {pid} on iPhone 15 (iOS 17.2, {BOOTED}, Booted)" in report["notes"]
    [session] = dbg.data("status")["sessions"]
    assert session["simulator"] == f"iPhone 15 (iOS 17.2, {BOOTED}, Booted)"
    assert "spin" in functions(dbg.data("backtrace")["stacks"][0])
    dbg.data("detach")
    assert "--find lldb-dap" in apple.asked
    # It was never let run: an app that waits for its debugger is where it waited.
    assert not {"continue", "pause"} & {each["command"] for each in dbg.sent_messages()}
    assert waits.alive(pid)


def test_an_xcode_without_adapter_joins_an_app_by_its_prompt(dbg, apple, launch):
    pid = launch()
    apple.lacks("lldb-dap")
    attach = ("attach", "--simulator", BOOTED, "--pid", pid)

    envelope = dbg.envelope(*attach, "-b", "endless.c:12")
    refused = dbg.error(*attach, env={"FREEZEFRAME_DEBUGGER": "dap"}, code=4)

    assert envelope["via"].startswith("lldb-cli ")
    assert refused["next"].endswith("--adapter lldb-cli")
    assert envelope["data"]["stop"]["reason"] == "breakpoint"
    dbg.data("detach")
    assert any(line.startswith("lldb --no-lldbinit ") for line in apple.asked)


def test_an_app_that_starts_later_is_waited_for(dbg, apple, launch):
    apple.launch(APP, os.getpid())  # one that runs already is not the next
    dbg.env["FREEZEFRAME_DEBUGGER"] = "lldb"  # the name by which people know it
    joining = dbg.start_background(
        *("--json", "attach", "--simulator", BOOTED, "--bundle-id", APP, "--wait-for", "--pause")
    )
    listing = f"simctl spawn {BOOTED} launchctl list"
    waits.wait_until(lambda: apple.asked.count(listing) > 1, "it looks")
    pid = launch()
    apple.launch(APP, pid)

    answer = joining.wait()

    assert answer.data()["pid"] == pid, str(answer)
    assert answer.json()["via"].startswith("lldb-cli ")
    assert answer.data()["state"] == "stopped"
    dbg.data("detach")


@on_loop
async def test_an_agent_joins_an_app_by_its_own_tool(dbg, apple, launch):
    pid = launch()
    apple.launch(APP, pid)
    app = {"simulator": BOOTED, "bundle_id": APP}
    async with connected(dbg) as client:
        text, data = await call(client, "debug_attach_sim", **app, pause=True)

        assert (data["state"], data["pid"]) == ("stopped", pid)
        assert "iPhone 15 (iOS 17.2" in text
        assert "endless.c" in (await call(client, "debug_stack"))[0]
        await call(client, "debug_detach")
        _, late = await refusal(client, "debug_attach_sim", **app, wait_for=True, timeout=0.2)
        assert late["code"] == "debugger-timeout"


def test_what_cannot_be_joined_is_refused_with_what_can(dbg, apple):
    attach = ("attach", "--simulator")

    assert dbg.error(*attach, TWICE, "--bundle-id", APP, code=2)["next"].endswith(
        f"{BOOTED} --bundle-id ID"
    )
    assert "the nearest are" in dbg.error(*attach, "iphon", "--bundle-id", APP, code=1)["message"]
    off = dbg.error(*attach, SHUT_DOWN, "--bundle-id", APP, code=1)
    assert off["next"] == f"xcrun simctl boot {SHUT_DOWN}"
    idle = dbg.error(*attach, BOOTED, "--bundle-id", APP, code=1)
    assert idle["next"] == f"xcrun simctl launch {BOOTED} {APP}"
    assert dbg.error(*attach, BOOTED, code=2)["code"] == "usage"
    assert dbg.error(*attach, BOOTED, "--bundle-id", APP, "--pid", 1, code=2)["code"] == "usage"
    assert dbg.error(*attach, BOOTED, "--pid", 1, "--wait-for", code=2)["code"] == "usage"
    late = dbg.error(*attach, BOOTED, "--bundle-id", APP, "--wait-for", "--timeout", 0.2, code=1)
    assert late["next"] == f"xcrun simctl launch --wait-for-debugger {BOOTED} {APP}"
    other = dbg.error(*attach, BOOTED, "--pid", os.getpid(), "--adapter", "debugpy", code=2)
    assert "lldb-dap, lldb-cli have" in other["message"]


def test_without_xcode_there_are_no_simulators(dbg, project):
    empty = {"PATH": str(project)}

    error = dbg.error("attach", "--simulator", TWICE, "--bundle-id", APP, code=4, env=empty)

    assert error["code"] == "debugger-missing"
    assert "macOS" in error["message"]
    assert error["next"] == "dbg attach PID"


def test_the_command_line_tools_alone_are_said_not_to_be_enough(dbg, apple):
    apple.program.write_text(
        "#!/bin/sh\n"
        "echo 'xcrun: error: unable to find utility \"simctl\", not a tool' >&2; exit 72\n"
    )

    error = dbg.error("attach", "--simulator", TWICE, "--bundle-id", APP, code=4)

    assert error["next"] == "sudo xcode-select --switch /Applications/Xcode.app"
