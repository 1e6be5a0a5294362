"""What a chain still has to explain: an expression, evaluated by a statement of a trace."""

from __future__ import annotations

from dataclasses import replace

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.questions import LinkKind
from freezeframe.model.trace import TracedValue

from .expressions import Expression
from .traced_values import Execution


@dataclass(frozen=True, slots=True)
class EvaluatedAt:
    """A statement that evaluates an expression, and what it gives the value to."""

    execution: Execution
    #: `p`, `cfg['rate']`, `price()`
    target: str
    kind: LinkKind = LinkKind.WRITE
    old: TracedValue | None = None
    new: TracedValue | None = None
    #: this is where the chain begins: no link shows it
    root: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """An expression whose value is to be explained."""

    node: Expression
    at: EvaluatedAt
    #: the value that was read, if it was recorded
    value: TracedValue | None = None
    #: the part of the value that is followed: `("[2]", ".qty")`
    focus: tuple[str, ...] = ()
    #: the text of that part, if it is known
    part: str | None = None
    #: the frame of the call, where its position does not say which one it is: in a comprehension
    called: int | None = None
    #: the character of a string that is followed: the first one that differs
    offset: int | None = None
    #: the text at that character, where the query's object holds it: a stream
    near: TracedValue | None = None
    #: the link that read the value
    parent: int | None = None
    #: the statements that passed the value on, newest first
    via: tuple[EvaluatedAt, ...] = ()
    #: the statement that read the value and did not pass it on
    reader: EvaluatedAt | None = None
    #: operands that decided the value are followed first
    weight: int = 0
    #: how far the expression is from the beginning of the chain; the nearest is followed first
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Computed:
    """The statement of the query made the value, from these operands."""

    query: Query
    operands: tuple[Query, ...] = ()
    #: where the value came from, if not from the operands
    note: str | None = None
    #: why the chain ends here, if it does
    end: str | None = None
    #: the function to which the value was passed, where it is not known how
    passed_to: str | None = None


def moved_to(query: Query, at: EvaluatedAt, value: TracedValue | None) -> Query:
    """Return the query at an earlier statement that had the value; the later one passed it on."""
    if query.at.root:
        return replace(query, at=at, value=value, reader=query.at)
    return replace(query, at=at, value=value, via=(*query.via, query.at))


def chain_end(query: Query, sentence: str) -> Computed:
    """Return that the chain ends at the query, and why."""
    return Computed(query, end=sentence)
