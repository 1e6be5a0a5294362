"""Windows: start a program in a job of its own, wait for its exit, end the job.

See `process_posix.py` for the same functions elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from freezeframe import windows

from .overlapped_windows import pipe as pipe

# <winbase.h>: suspended until it is in its job; without the daemon's console, which has none
_SUSPENDED, _NEW_GROUP, _NO_WINDOW = 0x4, 0x200, 0x08000000
_LOOK_AGAIN_S = 0.01


def start(
    argv: Sequence[str],
    *,
    cwd: str | None,
    env: Mapping[str, str] | None,
    streams: tuple[int, int, int],
    pass_fds: Sequence[int],
    controlling_tty: int | None,
    die_with_parent: bool,
) -> tuple[StartedProcess, JobTree]:
    """Start a program; see `Process.spawn`. Raises OSError and ValueError.

    Every program dies with this process, unless its job is released: *die_with_parent* is not
    needed, and there are no terminals. *pass_fds* are inherited as handles.
    """
    pipes = [
        pipe(reading=number > 0) if stream == subprocess.PIPE else None
        for number, stream in enumerate(streams)
    ]
    given = [ends[1] if ends else stream for ends, stream in zip(pipes, streams, strict=True)]
    try:
        popen = _popen(argv, cwd, env, given, pass_fds)
    except BaseException:
        for ends in filter(None, pipes):
            os.close(ends[0])
        raise
    finally:
        for ends in filter(None, pipes):
            os.close(ends[1])
    tree = JobTree(popen)
    return StartedProcess(popen, tuple(ends and ends[0] for ends in pipes)), tree


def _popen(
    argv: Sequence[str],
    cwd: str | None,
    env: Mapping[str, str] | None,
    streams: Sequence[int],
    pass_fds: Sequence[int],
) -> Any:
    options: dict[str, Any] = {}
    handles = [windows.module("msvcrt").get_osfhandle(fd) for fd in pass_fds]
    for handle in handles:
        os.set_handle_inheritable(handle, True)  # type: ignore[attr-defined, unused-ignore]
    if handles:
        startup = subprocess.STARTUPINFO  # type: ignore[attr-defined, unused-ignore]
        options["startupinfo"] = startup(lpAttributeList={"handle_list": handles})
    if env is not None:
        # Without it no socket can be opened and no random number had.
        kept = {key: os.environ[key] for key in ("SYSTEMROOT",) if key in os.environ}
        options["env"] = {**kept, **env}
    return subprocess.Popen(
        list(argv),
        cwd=cwd,
        stdin=streams[0],
        stdout=streams[1],
        stderr=streams[2],
        close_fds=True,
        creationflags=_SUSPENDED | _NEW_GROUP | _NO_WINDOW,
        bufsize=0,
        **options,
    )


def inherited_number(fd: int) -> int:
    """Return how a program knows a descriptor that it was passed: by the handle."""
    return int(windows.module("msvcrt").get_osfhandle(fd))


class StartedProcess:
    """A process of which we hold the handle."""

    def __init__(self, popen: Any, ends: tuple[int | None, ...]) -> None:
        self.pid: int = popen.pid
        self.ends = ends
        self._popen = popen
        self._loop = asyncio.get_running_loop()

    def watch(self, on_exit: Callable[[int], None]) -> None:
        """Call *on_exit* on the loop with the exit code."""

        def wait() -> None:
            code = self._popen.wait()
            with contextlib.suppress(RuntimeError):  # the loop is closed: nothing waits
                self._loop.call_soon_threadsafe(on_exit, code)

        threading.Thread(target=wait, daemon=True, name=f"wait-{self.pid}").start()

    def signal(self, number: int, *, group: bool) -> bool:
        """End the process: Windows has no signals but those of a console, and we have none."""
        del group
        return number == signal.SIGTERM and windows.kill(self.pid)


class JobTree:
    """A process with all its descendants: the interface of `process_tree.ProcessTree`."""

    def __init__(self, popen: Any) -> None:
        """Put a suspended process into a job, and let it run."""
        self._job = windows.Job()
        try:
            self._job.add(int(popen._handle))
        finally:
            windows.resume(int(popen._handle))

    def owns_files(self, names: Iterable[str]) -> None:
        """Do nothing: no process leaves its job."""

    def root_ended(self) -> None:
        """Do nothing: pids are read from the job."""

    def refresh(self, spare: Collection[int] = (), *, daemons: bool = False) -> list[int]:
        """Return the pids of all live members, without *spare* and their descendants."""
        del daemons
        members = self._job.pids()
        if not spare:
            return members
        spared = set(spare)
        parents = {row.pid: row.parent for row in windows.processes()}
        for pid in members:
            line = [pid]
            while (above := parents.get(line[-1])) in members and above not in line:
                line.append(above)
            if spared.intersection(line):
                spared.add(pid)
        return [pid for pid in members if pid not in spared]

    async def kill_all(
        self, timeout_s: float, spare: Collection[int] = (), *, daemons: bool = False
    ) -> bool:
        """Kill until no member is left; False if some still were after *timeout_s*."""
        deadline = time.monotonic() + timeout_s
        while members := self.refresh(spare, daemons=daemons):
            if spare:
                for pid in members:
                    windows.kill(pid)
            else:
                self._job.kill()
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_LOOK_AGAIN_S)
        if spare:
            self._job.release()
        return True


async def gone(pid: int, *, timeout_s: float | None) -> bool:
    """Return whether a process that is not our child exits within *timeout_s*."""
    loop: Any = asyncio.get_running_loop()
    with windows.opened(pid, windows.SYNCHRONIZE) as handle:
        return not handle or bool(await loop._proactor.wait_for_handle(handle.value, timeout_s))
