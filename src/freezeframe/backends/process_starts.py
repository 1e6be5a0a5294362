"""Whether a binary may start other processes, as far as its file shows."""

from __future__ import annotations

import struct

from freezeframe import files

from .elf import byte_order, elf_sections, is_elf

#: functions of the system that start processes, or that load code which may; not `syscall`, which
#: every Rust program refers to
_STARTERS = frozenset(
    b"fork vfork _Fork clone clone3 daemon forkpty popen system posix_spawn posix_spawnp "
    b"dlopen wordexp".split()
)
#: libraries that start no process unless one of these functions is called
_LIBRARIES = (
    b"libc.",
    b"libm.",
    b"libstdc++.",
    b"libc++",
    b"libgcc_s.",
    b"libpthread.",
    b"librt.",
    b"libdl.",
    b"ld-",
    b"linux-vdso.",
)


_NEEDED = 1  # the tag of a library's name in `.dynamic`


def may_start_processes(path: str) -> bool:
    """Whether a binary may start processes: False only where its file shows that it cannot."""
    try:
        with files.mapped(path) as view:
            if not is_elf(view):
                return True
            found = elf_sections(view, ".dynstr", ".dynamic")
            names, tags = found[".dynstr"], f"{byte_order(view)}QQ"
        needed = [at for tag, at in struct.iter_unpack(tags, found[".dynamic"]) if tag == _NEEDED]
        libraries = [names[at : names.index(b"\0", at)] for at in needed]
    except (OSError, ValueError, LookupError, struct.error):
        # Every function may be in a program that is statically linked.
        return True
    known = all(each.startswith(_LIBRARIES) for each in libraries)
    return not known or not _STARTERS.isdisjoint(names.split(b"\0"))
