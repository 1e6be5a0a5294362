"""Another user of the machine cannot run code in a node program through its inspector."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from freezeframe.backends.transport import process_table
from harness import users, waits
from harness.reports import place

pytestmark = [
    pytest.mark.skipif(not users.is_root(), reason="only root can be two users"),
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node: apt-get install nodejs"),
]

#: asks every port for the ids of its targets and tries to open a session; prints what it got
_INTRUDER = r"""
import json, re, socket, sys

ID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"

def ask(port, path, upgrade=False):
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    if upgrade:
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    answer = ""
    try:
        with socket.create_connection(("127.0.0.1", port), 5) as s:
            s.settimeout(5)
            s.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            while more := s.recv(65536).decode("latin-1"):
                answer += more
                if upgrade or "]" in answer or "404" in answer:
                    break
    except OSError:
        pass
    return answer

def read(path):
    try:
        return open(path).read()
    except OSError:
        return ""

ports, pids = json.loads(sys.argv[1]), json.loads(sys.argv[2])
got = []
for port in ports:
    texts = [ask(port, path) for path in ("/json", "/json/list")]
    texts += [read(f"/proc/{pid}/{name}") for pid in pids for name in ("cmdline", "environ")]
    ids = [each for text in texts for each in re.findall(ID, text)]
    for path in ("", "json", "json/list", "json/version", "ws", *map(str, pids), *ids):
        if ask(port, "/" + path, upgrade=True).startswith("HTTP/1.1 101"):
            got.append([port, path])
print(json.dumps(got))
"""


def _sessions_of_another_user(*pids: int) -> list[list[object]]:
    """Return the port and path of each inspector session that another user could open."""
    ports = sorted({port for pid in pids for port in process_table.ports(pid)})
    words = [users.interpreter() or "", "-c", _INTRUDER, json.dumps(ports), json.dumps(pids)]
    done = subprocess.run(
        words, cwd="/", capture_output=True, text=True, **users.as_user(users.STRANGER)
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


@pytest.fixture
def endless(project: Path):
    """Start a program without us; it is ended afterwards."""
    (project / "endless.js").write_text(
        "require('fs').writeFileSync('ready.txt', 'ready');\nsetInterval(() => {\n  0;\n}, 20);\n"
    )
    started: list[subprocess.Popen[bytes]] = []

    def start(*options: str) -> int:
        words = ["node", *options, "endless.js"]
        users.give(project, users.OWNER)
        owner = {"user": users.OWNER, "group": users.OWNER, "extra_groups": ()}
        process = subprocess.Popen(words, cwd=project, stderr=subprocess.DEVNULL, **owner)
        started.append(process)
        waits.wait_for_file(project / "ready.txt", "ready")
        return process.pid

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_intruder_of_these_tests_gets_into_an_inspector_that_is_open(dbg, endless):
    assert _sessions_of_another_user(endless("--inspect=127.0.0.1:0"))


def test_another_user_cannot_debug_a_started_program_or_its_child(dbg, project):
    (project / "parent.js").write_text(
        "require('child_process').fork('./child.js', [], {stdio: 'inherit'});\n"
        "setInterval(() => {}, 1000);\n"
    )
    (project / "child.js").write_text("const n = 1;\nsetInterval(() => {}, 1000);\n")

    users.give(project, users.OWNER)
    report = dbg.data("start", "parent.js", "-b", "child.js:2")

    assert place(report) == "child.js:2"
    parent, child = sorted(each["pid"] for each in dbg.data("sessions")["sessions"])
    assert _sessions_of_another_user(parent, child) == []
    assert not process_table.ports(child)


def test_another_user_cannot_debug_a_program_that_was_attached(dbg, endless):
    pid = endless("--inspect-port=0")

    report = dbg.data("attach", pid, "-b", "endless.js:3")

    assert place(report) == "endless.js:3"
    assert not process_table.ports(pid)
    dbg.data("detach")
    assert not process_table.ports(pid)
    assert _sessions_of_another_user(pid) == []
