"""Expressions and statements as provenance reads them: what a line reads, writes and decides.

One form for all languages. `python_source.py` makes it from Python's syntax trees, `any_source.py`
from lines of other languages, as far as their syntax is alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Protocol

from freezeframe.model.fast_dataclass import dataclass

#: line, column, end line, end column; lines from 1, columns from 0
Position = tuple[int, int, int, int]


class Form(StrEnum):
    NAME = "name"
    CONSTANT = "constant"
    #: a field or an element; `operands[0]` is the owner, `operands[1]`, if any, the key
    PART = "part"
    #: `operands[0]` is the function; `labels` are of the arguments after it
    CALL = "call"
    #: `operands` are condition, value if true, value if false
    CHOICE = "choice"
    #: `and`, `or`
    LOGIC = "logic"
    #: arithmetic and comparisons
    OPERATION = "operation"
    #: a list, tuple, set or dictionary written out; `labels` are the keys' texts of a dictionary
    DISPLAY = "display"
    #: a text put together of operands
    TEXT = "text"
    #: `operands` are the element, then the iterated expressions; `targets` their variables;
    #: `labels` has `if` where a condition leaves elements out
    COMPREHENSION = "comprehension"
    #: `operands[0]` is passed on as it is: await, walrus, parentheses
    SAME = "same"
    #: one of the elements of `operands[0]`: the variable of a loop; `name` says which, if known
    ELEMENT = "element"
    #: `operands[0]` with `name` as the part that is taken: unpacking
    ITEM = "item"
    #: what `with operands[0] as x` binds
    ENTERED = "entered"
    #: the exception that an `except` clause caught
    CAUGHT = "caught"
    #: what a generator is sent where it yields `operands[0]`
    SENT = "sent"
    #: a function, class or module: nothing to follow
    DEFINITION = "definition"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Expression:
    text: str
    form: Form
    position: Position = (0, 0, 0, 0)
    operands: tuple[Expression, ...] = ()
    #: the variable, the field (`.total`), the operator, the part of an unpacked value (`[1]`)
    name: str = ""
    #: of a call: the names of its arguments, `*` and `**` for unpacked ones, "" for positional ones
    labels: tuple[str, ...] = ()
    #: of a comprehension: the variables of its loops
    targets: tuple[Expression, ...] = ()

    def walk(self) -> Iterator[Expression]:
        """Yield this expression and those inside of it, outermost first."""
        yield self
        for operand in self.operands:
            yield from operand.walk()

    def paths(self) -> Iterator[Expression]:
        """Yield the variables, fields and elements that are read, the longest path of each.

        Names of called functions are left out; what a method is called on is not.
        """
        if self.form in (Form.NAME, Form.PART):
            yield self
            if self.form is Form.PART and len(self.operands) > 1:
                yield from self.operands[1].paths()
            if self.form is Form.PART and self.root.form is not Form.NAME:
                yield from self.operands[0].paths()
            return
        operands = self.operands
        if self.form is Form.CALL:
            function, *arguments = operands
            if function.form is Form.PART:
                yield from function.operands[0].paths()
            elif function.form is not Form.NAME:
                yield from function.paths()
            operands = tuple(arguments)
        bound = {each.name for target in self.targets for each in target.walk()}
        for operand in operands:
            yield from (path for path in operand.paths() if path.root.name not in bound)

    @property
    def root(self) -> Expression:
        """The innermost owner of a path: `cfg` of `cfg['a'].b`."""
        node = self
        while node.form is Form.PART:
            node = node.operands[0]
        return node


@dataclass(frozen=True, slots=True)
class WrittenTarget:
    """A target that a statement writes, and what it is given."""

    target: Expression
    value: Expression
    #: the old value is an operand too: `x += 1`
    augmented: bool = False


class StatementKind(StrEnum):
    PLAIN = "plain"
    RETURN = "return"
    YIELD = "yield"
    RAISE = "raise"
    ASSERT = "assert"
    #: a header: the condition of `if` or `while`, the loop's `for`
    IF = "if"
    WHILE = "while"
    FOR = "for"
    EXCEPT = "except"
    CASE = "case"
    WITH = "with"
    DEFINITION = "definition"


@dataclass(frozen=True, slots=True)
class Statement:
    """A simple statement, or the header of a compound one."""

    kind: StatementKind
    first: int
    last: int
    #: on one line
    text: str
    writes: tuple[WrittenTarget, ...] = ()
    #: what is evaluated: the returned value, the condition, the call
    value: Expression | None = None
    #: the column where it begins, to distinguish statements of one line
    column: int = 0
    #: the last line of a compound statement with all of its blocks; that of its body alone
    end: int = 0
    body_end: int = 0


def evaluated(statement: Statement | None) -> list[Expression]:
    """Return what a statement evaluates: its value, and the keys of what it writes."""
    if statement is None or statement.kind is StatementKind.DEFINITION:
        return []
    targets = [
        key
        for each in statement.writes
        if each.target.form is Form.PART
        for key in each.target.operands[1:]
    ]
    found = [] if statement.value is None else [statement.value]
    return [*found, *targets]


@dataclass(frozen=True, slots=True)
class Branch:
    """A compound statement around a statement, and in which of its arms it is."""

    header: Statement
    #: True: in its body; False: in its `else`
    taken: bool


@dataclass(frozen=True, slots=True)
class EarlyExit:
    """A branch beside a statement that leaves the block: `if …: return` before it."""

    header: Statement
    #: whether the body leaves (then the condition was false), or the `else`
    in_body: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    default: Expression | None = None
    #: `*` or `**` for those that collect the rest
    star: str = ""


class SourceFile(Protocol):
    """What provenance asks about one source file."""

    def statement(self, line: int) -> Statement | None:
        """Return the innermost statement at *line*; of a compound statement, its header."""

    def branches(self, statement: Statement) -> tuple[Branch, ...]:
        """Return the branches around *statement* in its function, innermost first."""

    def exits(self, statement: Statement) -> tuple[EarlyExit, ...]:
        """Return the branches before *statement* that could have left its block, nearest first."""

    def raises(self, first_line: int) -> tuple[Statement, ...]:
        """Return the statements that raise in the function that begins at *first_line*."""

    def returns(self, first_line: int) -> tuple[Statement, ...]:
        """Return the statements that return from the function that begins at *first_line*."""

    def other_writes(self, statement: Statement, target: str) -> tuple[Statement, ...]:
        """Return the other statements of the function that write the same target."""

    def parameters(self, first_line: int) -> tuple[Parameter, ...]:
        """Return the parameters of the function that begins at *first_line*."""

    def bases(self, first_line: int) -> tuple[str, ...]:
        """Return the names of the base classes of the class that begins at *first_line*."""

    def lambda_at(self, line: int) -> Expression | None:
        """Return what the only function without a name that begins at *line* returns."""

    def call_at(self, position: Position) -> Expression | None:
        """Return the call whose position is *position*."""

    def expression(self, text: str) -> Expression | None:
        """Return *text* as an expression; None if it is none."""
