"""Read from /proc which files, sockets and pipes a process has open."""

from __future__ import annotations

import os
import stat

from freezeframe.model.fast_dataclass import dataclass

#: descriptors that are read at most
_MOST = 1000
#: files that are no data of a program
_OTHERS = ("/dev/", "/proc/", "/memfd:")


@dataclass(frozen=True, slots=True)
class OpenFiles:
    #: paths of regular files that are open for writing
    written: tuple[str, ...] = ()
    sockets: int = 0
    #: pipes besides standard input, output and error
    pipes: int = 0


def open_files(pid: int) -> OpenFiles:
    """Return the open files of a process; nothing where /proc does not show them."""
    written, sockets, pipes = [], 0, set()
    standard = {_target(pid, number) for number in ("0", "1", "2")}
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")[:_MOST]
    except OSError:
        return OpenFiles()
    for number in numbers:
        try:
            path = os.readlink(f"/proc/{pid}/fd/{number}")
            mode = os.stat(f"/proc/{pid}/fd/{number}").st_mode
            with open(f"/proc/{pid}/fdinfo/{number}", encoding="ascii") as file:
                flags = next(line for line in file if line.startswith("flags:"))
        except (OSError, StopIteration):
            continue
        if path.startswith("socket:"):
            sockets += 1
        if stat.S_ISFIFO(mode) and path not in standard:
            pipes.add(path)
        is_data = path.startswith("/") and not path.startswith(_OTHERS) and os.path.isfile(path)
        if is_data and int(flags.split()[1], 8) & os.O_ACCMODE:
            written.append(path)
    return OpenFiles(tuple(dict.fromkeys(written)), sockets, len(pipes))


def _target(pid: int, number: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/fd/{number}")
    except OSError:
        return ""
