"""The wire log: every message of a connection as a line of JSON."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

#: size limit of one file in bytes; the previous file is kept as PATH.1
LIMIT = 32 << 20


class WireLog:
    """Append messages to the file at *path*, readable by its owner alone.

    At most twice *limit_bytes* stay on disk. A full disk ends the log, not the session.
    """

    def __init__(self, path: str, *, limit_bytes: int = LIMIT) -> None:
        self._path = path
        self._limit = limit_bytes
        self._began = time.monotonic()
        self._fd: int | None = None
        self._size = 0
        self._open()

    def observer(self, who: str) -> Callable[[str, Mapping[str, Any]], None]:
        """Return the *observe* callback of a connection; *who* names it in each line."""

        def observe(direction: str, message: Mapping[str, Any]) -> None:
            self.write(who, direction, message)

        return observe

    def write(self, who: str, direction: str, message: Mapping[str, Any]) -> None:
        if self._fd is None:
            return
        line = json.dumps(
            {
                "ms": round((time.monotonic() - self._began) * 1000, 3),
                "who": who,
                "direction": direction,
                "message": message,
            },
            separators=(",", ":"),
            default=str,
        )
        data = line.encode("ascii") + b"\n"
        try:
            if self._size and self._size + len(data) > self._limit:
                self._rotate()
            os.write(self._fd, data)
            self._size += len(data)
        except OSError:
            self.close()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._fd = os.open(self._path, flags, 0o600)
        self._size = os.fstat(self._fd).st_size

    def _rotate(self) -> None:
        self.close()
        os.replace(self._path, self._path + ".1")
        self._open()
