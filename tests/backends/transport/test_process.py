from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from backends.async_tests import on_loop, until
from freezeframe.backends.transport import process_tree
from freezeframe.backends.transport.fd_reader import TextReader
from freezeframe.backends.transport.process import (
    DEVNULL,
    PIPE,
    STDOUT,
    Process,
    exit_of,
    signal_name,
)
from freezeframe.errors import DebuggerTimeout, LaunchFailed
from freezeframe.model.stops import Exit

PYTHON = [sys.executable, "-I", "-S", "-c"]


async def output_of(process: Process) -> str:
    pieces: list[str] = []
    drain = TextReader(process.take_stdout(), pieces.append)
    drain.start()
    assert await drain.wait_end(10)
    return "".join(pieces)


def alive(pid: int) -> bool:
    return any(entry.pid == pid and not entry.zombie for entry in process_tree.table())


@pytest.mark.parametrize(
    ("code", "returncode", "exit"),
    [
        ("", 0, Exit(code=0)),
        ("raise SystemExit(7)", 7, Exit(code=7)),
        ("import os; os.kill(os.getpid(), 11)", -11, Exit(signal="SIGSEGV")),
        ("import os; os.kill(os.getpid(), 9)", -9, Exit(signal="SIGKILL")),
    ],
)
@on_loop
async def test_the_exit_of_a_program_is_known(code: str, returncode: int, exit: Exit) -> None:
    process = Process.spawn([*PYTHON, code])
    seen: list[int] = []
    process.on_exit(seen.append)
    assert await process.wait(10) == returncode
    assert process.returncode == returncode
    assert exit_of(returncode) == exit
    process.on_exit(seen.append)
    await until(lambda: seen == [returncode, returncode])


def test_every_signal_has_a_name() -> None:
    assert signal_name(signal.SIGABRT) == "SIGABRT"
    assert signal_name(signal.SIGRTMIN + 3) == "SIGRTMIN+3"
    assert signal_name(200) == "signal 200"


@on_loop
async def test_the_exit_is_noticed_without_a_pidfd(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    process = Process.spawn([*PYTHON, "raise SystemExit(3)"])
    assert await process.wait(10) == 3


@on_loop
async def test_a_wait_is_bounded_and_leaves_the_program_alone() -> None:
    process = Process.spawn(["sleep", "60"])
    with pytest.raises(DebuggerTimeout, match="did not end"):
        await process.wait(0.02)
    assert process.returncode is None
    assert await process.kill_tree()
    assert process.returncode == -signal.SIGKILL


@on_loop
async def test_a_program_has_a_session_of_its_own_and_no_descriptor_of_ours() -> None:
    leak, other = os.pipe()
    os.set_inheritable(leak, True)
    code = "import os; print(os.getsid(0) == os.getpid(), sorted(os.listdir('/proc/self/fd')))"
    process = Process.spawn([*PYTHON, code], stdout=PIPE, stderr=STDOUT)
    text = await output_of(process)
    os.close(leak)
    os.close(other)
    assert text.startswith("True ['0', '1', '2', ")
    assert text.count(",") == 3  # the fourth is that of the listing itself


@on_loop
async def test_descriptors_that_are_passed_on_keep_their_numbers() -> None:
    read, write = os.pipe()
    process = Process.spawn([*PYTHON, f"import os; os.write({write}, b'here')"], pass_fds=[write])
    os.close(write)
    assert await process.wait(10) == 0
    assert os.read(read, 10) == b"here"
    os.close(read)


@on_loop
async def test_signals_have_their_default_dispositions() -> None:
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        code = """
import signal
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
print(signal.pthread_sigmask(0, []))
"""
        process = Process.spawn([*PYTHON, code], stdout=PIPE)
        assert await output_of(process) == "True\nset()\n"
    finally:
        signal.signal(signal.SIGINT, old)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])


@on_loop
async def test_a_program_gets_the_given_directory_and_environment(tmp_path: Path) -> None:
    process = Process.spawn(
        ["sh", "-c", 'pwd; echo "$A $HOME"'],
        cwd=str(tmp_path),
        env={"A": "é", "PATH": os.environ["PATH"]},
        stdout=PIPE,
    )
    assert await output_of(process) == f"{tmp_path}\né \n"


@on_loop
async def test_a_failed_start_is_reported_with_a_next_step(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("no program")
    script = tmp_path / "script"
    script.write_text("#!/no/such/interpreter\n")
    data = tmp_path / "data"
    data.write_bytes(b"\0\1\2\3")
    for path in (script, data):
        path.chmod(0o755)
    cases: list[tuple[list[str], str | None, str]] = [
        (["no-such-program-xyz"], None, "there is no program no-such-program-xyz on PATH"),
        ([str(tmp_path / "gone")], None, "there is no program"),
        ([str(plain)], None, "may not be executed"),
        ([str(tmp_path)], None, "is a directory"),
        ([str(script)], None, "interpreter named in the first line"),
        ([str(data)], None, "neither a binary"),
        (["true"], str(tmp_path / "nowhere"), "nowhere does not exist"),
        (["true"], str(plain), "plain is not a directory"),
        (["true", "x" * 4_000_000], None, "longer than the system allows"),
        (["true", "nul\0byte"], None, "null byte"),
    ]
    for argv, cwd, words in cases:
        with pytest.raises(LaunchFailed) as caught:
            Process.spawn(argv, cwd=cwd)
        assert words in caught.value.message
        assert caught.value.next
        assert len(caught.value.message) < 300


FAMILY = """
import os, subprocess, sys, time
child = [sys.executable, "-I", "-S", "-c", "import os, time; os.write(1, b'up '); time.sleep(60)"]
subprocess.Popen(child)
subprocess.Popen(child, start_new_session=True)
subprocess.Popen(["sh", "-c", "sleep 60 & echo up; wait"], start_new_session=True)
if os.fork() == 0:
    # an orphan: its parent ends at once
    if os.fork() == 0:
        os.write(1, b"up\\n")
        time.sleep(60)
    os._exit(0)
if len(sys.argv) > 1:
    sys.stdin.read()
    os._exit(0)
time.sleep(60)
"""


@contextlib.asynccontextmanager
async def family(*args: str) -> AsyncIterator[tuple[Process, list[int]]]:
    """Run FAMILY, and hand over its root and the pids of its five descendants."""
    process = Process.spawn([*PYTHON, FAMILY, *args], stdin=PIPE, stdout=PIPE)
    pieces: list[str] = []
    drain = TextReader(process.take_stdout(), pieces.append)
    drain.start()
    members: list[int] = []

    def complete() -> bool:
        members[:] = process.note_descendants()
        return len(members) == 5 and "".join(pieces).count("up") == 4

    try:
        await until(complete)
        yield process, members
    finally:
        drain.close()
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await process.kill_tree()
        process.close()


@on_loop
async def test_killing_the_tree_kills_descendants_of_any_session_or_parent() -> None:
    async with family() as (process, members):
        assert all(alive(pid) for pid in members)
        assert await process.kill_tree()
        assert not [pid for pid in members if alive(pid)]
        assert process.returncode == -signal.SIGKILL


@on_loop
async def test_descendants_that_were_noted_are_killed_even_after_the_program_has_ended() -> None:
    async with family("end") as (process, members):
        os.close(process.take_stdin())
        await process.wait(10)
        assert all(alive(pid) for pid in members)
        assert await process.kill_tree()
        assert not [pid for pid in members if alive(pid)]


@on_loop
async def test_a_spared_descendant_survives_with_its_descendants() -> None:
    async with family() as (process, members):
        parents = {entry.pid: entry.parent for entry in process_tree.table()}
        sleeper = next(pid for pid in members if parents[parents[pid]] == process.pid)
        shell = parents[sleeper]
        assert await process.kill_tree(spare=[shell])
        assert {pid for pid in members if alive(pid)} == {shell, sleeper}


@on_loop
async def test_only_a_descendant_and_its_descendants_are_killed() -> None:
    async with family() as (process, members):
        parents = {entry.pid: entry.parent for entry in process_tree.table()}
        sleeper = next(pid for pid in members if parents[parents[pid]] == process.pid)
        shell = parents[sleeper]
        assert await process_tree.kill(shell)
        assert {pid for pid in members if not alive(pid)} == {shell, sleeper}
        (plain, *_) = (pid for pid in members if os.getsid(pid) == process.pid)
        assert await process_tree.kill(plain)
        assert not alive(plain)
        assert alive(process.pid)
        assert len([pid for pid in members if alive(pid)]) == 2


@on_loop
async def test_a_tree_that_keeps_forking_is_caught() -> None:
    # Bounded, so that a failure of this test is not a disaster: 20 × 20 forks, 20 s each.
    code = """
import os, time
os.write(1, b"up")
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        for _ in range(20):
            if os.fork() == 0:
                break
            time.sleep(0.02)
        break
    time.sleep(0.02)
time.sleep(20)
"""
    process = Process.spawn([*PYTHON, code], stdout=PIPE)
    # Every descendant holds the pipe: its end is the proof that all of them are gone.
    pieces: list[str] = []
    drain = TextReader(process.take_stdout(), pieces.append)
    drain.start()
    await until(lambda: pieces and len(process.note_descendants()) > 5)
    assert await process.kill_tree()
    assert await drain.wait_end(5)


def test_a_reused_pid_is_not_a_member_of_the_tree() -> None:
    stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        family = process_tree.ProcessTree(stranger.pid)
        assert family.refresh() == [stranger.pid]
        family._members = {stranger.pid: 1.0}
        family._sessions = {stranger.pid: 1.0}
        assert family.refresh() == []
    finally:
        stranger.kill()
        stranger.wait()


@on_loop
async def test_terminate_lets_a_program_clean_up_and_kills_one_that_does_not(
    tmp_path: Path,
) -> None:
    mark = tmp_path / "clean"
    polite = f"""
import signal, time, os
def bye(*_):
    open({str(mark)!r}, "w").close(); os._exit(4)
signal.signal(signal.SIGTERM, bye); os.write(1, b"up"); time.sleep(60)
"""
    stubborn = """
import signal, time, os
signal.signal(signal.SIGTERM, signal.SIG_IGN); os.write(1, b"up"); time.sleep(60)
"""
    for code, grace_s, returncode in ((polite, 10.0, 4), (stubborn, 0.05, -9)):
        process = Process.spawn([*PYTHON, code], stdout=PIPE)
        await asyncio.to_thread(os.read, process.take_stdout(), 2)
        assert await process.terminate(grace_s) == returncode
    assert mark.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own promise, Linux only")
@on_loop
async def test_a_program_dies_with_us_unless_die_with_parent_is_off(tmp_path: Path) -> None:
    code = """
import asyncio, os, sys
from freezeframe.backends.transport.process import Process
async def main():
    a = Process.spawn(["sleep", "60"])
    b = Process.spawn(["sleep", "60"], die_with_parent=False)
    print(a.pid, b.pid, flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""
    process = Process.spawn([sys.executable, "-c", code], stdout=PIPE, stdin=DEVNULL)
    with_us, without = map(int, (await output_of(process)).split())
    try:
        await until(lambda: not alive(with_us))
        assert alive(without)
    finally:
        os.kill(without, signal.SIGKILL)
