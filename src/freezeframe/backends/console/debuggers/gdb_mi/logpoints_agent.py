# mypy: ignore-errors
"""Logpoints inside gdb: a breakpoint that prints its message and never stops the program.

gdb's dprintf has no conversion that suits every type; stopping and continuing from outside would
interrupt a step in progress.
"""

import json

import gdb

import __main__

_PREFIX = "\x1elog "


def _print(text):
    # gdb holds back a line without a newline and prints it with the next answer.
    gdb.write(text + "\n")


class FreezeframeLog(gdb.Breakpoint):
    def begin(self, spec):
        self.parts = spec["parts"]
        self.when = spec.get("when")
        self.acts = eval("lambda hits: " + (spec.get("hits") or "True"))
        self.hits = 0

    def stop(self):
        try:
            if self.when is not None and not bool(__main__.freezeframe_evaluate(self.when)):
                return False
            self.hits += 1
            if self.acts(self.hits):
                text = "".join(
                    part if isinstance(part, str) else __main__.freezeframe_logged(part[0])
                    for part in self.parts
                )
                self.write(text)
        except Exception as error:
            self.write("the condition " + str(self.when) + " raised " + str(error).strip())
        return False

    def write(self, text):
        # Flush, so that the message is a record without other output in it.
        gdb.flush()
        gdb.write(_PREFIX + text + "\n")
        gdb.flush()


def freezeframe_log(packed):
    """Set a logpoint and print its number."""
    spec = json.loads(bytes.fromhex(packed).decode("utf-8"))
    made = FreezeframeLog(**spec["location"])
    made.begin(spec)
    gdb.flush()
    _print(f"freezeframe {made.number}")


def freezeframe_globals():
    """Print name, type and expression of each global variable in the frame's file."""
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
                _print("\t".join((name, str(symbol.type), way)))


def freezeframe_before():
    """Print line and file of the instruction before the frame's current one."""
    sal = gdb.find_pc_line(gdb.selected_frame().pc() - 1)
    if sal.symtab is not None and sal.line:
        _print(f"{sal.line}\t{sal.symtab.fullname()}")
