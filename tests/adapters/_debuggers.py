"""The debuggers that the contract is held against. One small entry each.

What a debugger cannot do is stated here, and then tested: it must be refused as unsupported, not
skipped.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.client import Dbg
from harness.interpreters import Interpreter, interpreters


@dataclass(frozen=True)
class Debugger:
    """A debugger and a runtime, as one row of the contract."""

    id: str
    #: `loop` + suffix is the contract's program in this language
    suffix: str
    #: operations that must be refused as unsupported, as command lines tried at a stop
    refuses: tuple[str, ...] = ()
    #: in the words of the language: the type of the error that uncaught.* dies of
    error_type: str = ""
    error_message: str = ""
    #: an expression that cannot be evaluated, and a word of the complaint
    bad_expression: str = "no_such_name"
    complaint: str = "no_such_name"
    interpreter: Interpreter | None = field(default=None, repr=False)

    def prepare(self, dbg: Dbg) -> None:
        """Make the caller's environment one in which this debugger is the natural choice."""
        if self.interpreter:
            dbg.use_interpreter(self.interpreter.path)

    def __str__(self) -> str:
        return self.id


PYTHONS = tuple(
    Debugger(
        id=f"python{interpreter.version}",
        suffix=".py",
        refuses=(
            "memory read 0x1000",
            "memory write 0x1000 00",
            "registers",
            "disassemble",
            "watch total",
            "break *0x1000",
        ),
        error_type="ZeroDivisionError",
        error_message="division by zero",
        complaint="NameError",
        interpreter=interpreter,
    )
    for interpreter in interpreters()
)

DEBUGGERS = PYTHONS
