# mypy: ignore-errors
"""Logpoints, from inside gdb: a breakpoint that writes its message and never stops the program.

gdb's own dprintf has no conversion that suits every type; stopping and going on again from
outside would break off a step that is under way.
"""

import json

import gdb

_MARK = "\x1elog "
_COMPARE = {
    "==": lambda hits, n: hits == n,
    ">=": lambda hits, n: hits >= n,
    ">": lambda hits, n: hits > n,
    "<": lambda hits, n: hits < n,
    "<=": lambda hits, n: hits <= n,
    "%": lambda hits, n: n > 0 and hits % n == 0,
}


def _show(expression):
    try:
        value = gdb.parse_and_eval(expression)
        try:
            text = value.format_string(max_elements=200, address=False)
        except TypeError:  # before gdb 11
            text = value.format_string(max_elements=200)
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
    gdb.write(f"freezeframe {made.number}\n")


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
                gdb.write("\t".join((name, str(symbol.type), way)) + "\n")
