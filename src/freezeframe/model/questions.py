"""Answers to questions about a run: where a value came from, and why.

They hold facts that were recorded in a trace (`trace.py`); the renderers produce the text.
"""

from __future__ import annotations

from enum import StrEnum

from .fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ReadValue:
    """A value that a statement or a condition read, as the source names it."""

    expression: str
    value: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A branch that decided whether a statement was executed."""

    #: the condition as the source has it: `n > 10`, `for k, v in rows`
    text: str
    path: str
    line: int
    #: whether the branch was taken; None: not known
    taken: bool | None = None
    #: the values at its evaluation
    reads: tuple[ReadValue, ...] = ()
    #: the exception that an `except` clause handled
    exception: str | None = None
    #: it did not lead to the statement: the other outcome would have prevented or replaced it
    decisive: bool = False


@dataclass(frozen=True, slots=True)
class Iteration:
    """The round of the innermost loop around a statement, counted from 1."""

    round: int
    #: how many rounds began in the trace
    of: int
    #: the line of the loop
    line: int


@dataclass(frozen=True, slots=True)
class Relay:
    """A statement that passed a value on without changing it: an argument, `x = y`, `return x`."""

    path: str
    line: int
    function: str
    statement: str


class LinkKind(StrEnum):
    #: a variable, a field or an element was written
    WRITE = "write"
    #: the value is what a call returned; the location is the return statement
    RETURN = "return"
    #: the value was passed as an argument; the location is the call
    ARGUMENT = "argument"
    #: the default value of a parameter
    DEFAULT = "default"
    #: the object that holds the value was made here
    MADE = "made"
    #: the expression itself, where it is no variable
    EXPRESSION = "expression"
    #: an exception was raised here
    RAISED = "raised"
    #: a condition under which an exception would have been raised; it did not hold
    NOT_RAISED = "not-raised"
    #: a condition that kept a statement from being executed which names what was expected
    NOT_EXECUTED = "not-executed"


@dataclass(frozen=True, slots=True)
class Link:
    """One statement of the chain that made a value."""

    path: str
    line: int
    function: str
    #: the statement, on one line, shortened
    statement: str
    #: what the statement made: `p`, `cfg['rate']`, `price(n)`
    target: str
    kind: LinkKind = LinkKind.WRITE
    #: the step of the trace
    step: int | None = None
    #: None: there was none, or it is not known
    old: str | None = None
    new: str | None = None
    #: the values that the statement read
    reads: tuple[ReadValue, ...] = ()
    #: the branches that led to the statement, innermost first
    conditions: tuple[Condition, ...] = ()
    iteration: Iteration | None = None
    #: how the value came from here to the link before, newest first; shortened in the middle
    via: tuple[Relay, ...] = ()
    #: where the link's values came from outside: `made by json.loads, which was not traced`
    note: str | None = None
    #: the index of the link that read what this one made; None for the expression itself
    explains: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Where the value of an expression came from: links, newest first."""

    expression: str
    value: str | None = None
    #: where the expression was evaluated
    path: str | None = None
    line: int | None = None
    function: str = ""
    #: the part of the value that the chain follows: `prices[2]`, and its value
    part: str | None = None
    part_value: str | None = None
    links: tuple[Link, ...] = ()
    #: where the chain ends, in sentences: `cfg was there before the trace began`
    ends: tuple[str, ...] = ()
    #: links that were found and left out, and expressions whose chain they are
    left_out: tuple[str, ...] = ()
    #: calls that may have decided the value, though no write of it leads there: what is missing
    #: went into them and did not come out, or they gave up; the most telling one first
    calls: tuple[Link, ...] = ()
    #: facts about the run: the program ran again, the second run differed
    notes: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
