"""A file as it lies on the disk, read where it is looked at: programs may be big."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator


@contextlib.contextmanager
def mapped(path: str) -> Iterator[mmap.mmap]:
    """Yield the contents of a file. Raises OSError, and ValueError for an empty one."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        yield view
