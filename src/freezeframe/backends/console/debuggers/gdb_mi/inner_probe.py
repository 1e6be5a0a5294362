# mypy: ignore-errors
"""Logpoints, from inside gdb: a breakpoint that writes its message and never stops the program.

gdb's own dprintf has no conversion that suits every type; stopping and going on again from
outside would break off a step that is under way.
"""

import json
import os

import gdb

_MARK = "\x1elog "
#: of glibc's streams: what the flags of each begin with, and the one for a line at a time
_STREAM, _BY_LINE = 0xFBAD, 0x200
_COMPARE = {
    "==": lambda hits, n: hits == n,
    ">=": lambda hits, n: hits >= n,
    ">": lambda hits, n: hits > n,
    "<": lambda hits, n: hits < n,
    "<=": lambda hits, n: hits <= n,
    "%": lambda hits, n: n > 0 and hits % n == 0,
}


def _tell(text):
    # Without its end a line would be kept back, and come out with the next answer.
    gdb.write(text + "\n")


def _show(expression):
    try:
        value = gdb.parse_and_eval(expression)
        text = value.format_string(max_elements=200)
        kind = value.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_PTR and '"' in text:
            # Of a string the text is meant, not where it is.
            text = text[text.index('"') :]
        return text if isinstance(text, str) else str(text)
    except Exception as error:
        return "<" + str(error).strip() + ">"


class FreezeframeLog(gdb.Breakpoint):
    def begin(self, spec):
        self.parts = spec["parts"]
        self.when = spec.get("when")
        self.compare, self.n = spec.get("hits") or (">=", 0)
        self.hits = 0

    def stop(self):
        try:
            if self.when is not None and not bool(gdb.parse_and_eval(self.when)):
                return False
            self.hits += 1
            if _COMPARE[self.compare](self.hits, self.n):
                text = "".join(
                    part if isinstance(part, str) else _show(part[0]) for part in self.parts
                )
                self.say(text)
        except Exception as error:
            self.say("the condition " + str(self.when) + " raised " + str(error).strip())
        return False

    def say(self, text):
        # A record of its own: what others printed must not stand in it.
        gdb.flush()
        gdb.write(_MARK + text + "\n")
        gdb.flush()


def freezeframe_log(packed):
    """Set a logpoint; prints its number."""
    spec = json.loads(bytes.fromhex(packed).decode("utf-8"))
    made = FreezeframeLog(**spec["place"])
    made.begin(spec)
    gdb.flush()
    _tell(f"freezeframe {made.number}")


def freezeframe_globals():
    """Print name, type and expression of each variable outside of functions in the frame's file."""
    function = gdb.selected_frame().function()
    if function is None:
        return
    seen = set()
    for block in (function.symtab.global_block(), function.symtab.static_block()):
        for symbol in block:
            if symbol.is_variable and not symbol.is_argument and symbol.name not in seen:
                seen.add(symbol.name)
                name = symbol.print_name
                way = name if "::" in name else f"'{function.symtab.filename}'::{name}"
                _tell("\t".join((name, str(symbol.type), way)))


def freezeframe_before():
    """Print line and file of the instruction before the one where the frame stands."""
    place = gdb.find_pc_line(gdb.selected_frame().pc() - 1)
    if place.symtab is not None and place.line:
        _tell(f"{place.line}\t{place.symtab.fullname()}")


def freezeframe_thrown():
    """Print where the exception at hand lies, its type and those that it inherits from."""
    value = gdb.parse_and_eval("$_exception")
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_REF:
        value = value.referenced_value()
    names, waiting = [], [value.type.strip_typedefs().unqualified()]
    while waiting:
        each = waiting.pop(0)
        names.append(str(each))
        if each.code == gdb.TYPE_CODE_STRUCT:
            waiting += [
                field.type.strip_typedefs() for field in each.fields() if field.is_base_class
            ]
    _tell("\x1f".join([hex(int(value.address)), *names]))


def freezeframe_lines(library, offset):
    """Let C's standard output go out line by line, as it does at a terminal.

    That is a flag of its stream, at *offset* in the library: set when that is loaded, before the
    program runs a line. setvbuf would do the same, in a program that stands.
    """

    def loaded(event):
        if os.path.realpath(event.new_objfile.filename) != library:
            return
        process = gdb.selected_inferior()
        with open(f"/proc/{process.pid}/maps") as maps:
            first = next((row for row in maps if row.rstrip().endswith(library)), None)
        if first is None:
            return
        where = int(first.partition("-")[0], 16) + offset
        flags = int.from_bytes(process.read_memory(where, 4).tobytes(), "little")
        if flags >> 16 == _STREAM:
            process.write_memory(where, (flags | _BY_LINE).to_bytes(4, "little"))

    gdb.events.new_objfile.connect(loaded)
