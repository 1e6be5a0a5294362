# mypy: ignore-errors
"""Runs inside gdb: makes C's standard output line-buffered, as it is on a terminal.

The C library fully buffers a pipe, and a stop would show none of the output.
"""

import os

import gdb

#: the upper half of the flags of every glibc stream, and the flag for line buffering
_STREAM, _BY_LINE = 0xFBAD, 0x200


def _set_flag(where):
    process = gdb.selected_inferior()
    flags = int.from_bytes(process.read_memory(where, 4).tobytes(), "little")
    if flags >> 16 == _STREAM:
        process.write_memory(where, (flags | _BY_LINE).to_bytes(4, "little"))


class _Entry(gdb.Breakpoint):
    """Hit before the first line of a statically linked program."""

    def stop(self):
        try:
            _set_flag(int(gdb.parse_and_eval("&_IO_2_1_stdout_")))
        except gdb.error:
            pass  # another C library: the output stays buffered
        return False


def freezeframe_static_lines():
    _Entry("__libc_start_main", internal=True)


def freezeframe_lines(library, offset):
    """Make C's standard output line-buffered, as it is on a terminal.

    Sets a flag of the stream at *offset* in the library when gdb loads the library, before the
    program runs a line. setvbuf would do the same, in a stopped program.
    """

    def loaded(event):
        if os.path.realpath(event.new_objfile.filename) != library:
            return
        with open(f"/proc/{gdb.selected_inferior().pid}/maps") as maps:
            first = next((row for row in maps if row.rstrip().endswith(library)), None)
        if first is None:
            return
        _set_flag(int(first.partition("-")[0], 16) + offset)

    gdb.events.new_objfile.connect(loaded)
