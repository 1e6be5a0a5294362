"""The links of a chain, made of the statements that a chain comes to."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from freezeframe.model.questions import Condition, Link, LinkKind, ReadValue, Relay

from .decisions import conditions, iteration, untaken_exits, untaken_writes
from .expressions import Expression, Form, Statement, evaluated
from .queries import EvaluatedAt, Query
from .trace_index import NEVER
from .traced_values import Execution, TracedValues, shortened

_SHOWN_RELAYS = 4
MOST_CONDITIONS = 3
MOST_STATEMENT = 120


class ChainLinks:
    """The links that were found, one for each execution of a statement."""

    def __init__(self, values: TracedValues) -> None:
        self._values = values
        self._index = values.index
        self._links: list[Link] = []
        #: the frame of each link
        self._frames: list[int] = []

    def __len__(self) -> int:
        return len(self._links)

    def add(self, query: Query, note: str | None) -> int:
        """Add the statement of a query; return the index of its link.

        What a statement gave to several targets is one link.
        """
        return self.append(self.link(query, note), query.at.execution.frame)

    def append(self, made: Link, frame: int) -> int:
        for index, link in enumerate(self._links):
            if (link.step, link.line, self._frames[index]) == (made.step, made.line, frame):
                if any(each.expression == made.target for each in link.reads):
                    continue  # a parameter of the name of a variable that was read
                if made.new is not None and made.new != link.new:
                    also = (ReadValue(made.target, made.new), *made.reads)
                    self._links[index] = replace(link, reads=_united(link.reads, also))
                return index
        self._links.append(made)
        self._frames.append(frame)
        return len(self._links) - 1

    def has(self, execution: Execution) -> bool:
        """Whether a link shows that execution of a statement."""
        return any(
            link.step == execution.first and frame == execution.frame
            for link, frame in zip(self._links, self._frames, strict=True)
        )

    def note(self, index: int, note: str) -> None:
        """Add what is to be said of a link."""
        link = self._links[index]
        self._links[index] = replace(link, note="; ".join(filter(None, (note, link.note))))

    def is_round_before(self, query: Query, parent: int) -> bool:
        """Whether a value was made by the statement of the link that read it: `total += x`."""
        execution, link = query.at.execution, self._links[parent]
        same = (link.target, link.line) == (query.at.target, execution.line)
        return same and self._frames[parent] == execution.frame and link.step != execution.first

    def link(self, query: Query, note: str | None) -> Link:
        """Return the statement of a query as a link, without adding it."""
        at = query.at
        execution = at.execution
        frame = self._index.frames[execution.frame]
        statement = execution.statement
        text = statement.text if statement is not None else ""
        line = _line_inside(query, statement)
        if not text or line != execution.line:
            text = self._values.files.line(frame.path, line)
        nodes = evaluated(statement) if statement is not None else []
        new = at.new.text if at.new is not None else None
        if line != execution.line and query.node.form is Form.CONSTANT:
            new = query.node.text
        return Link(
            frame.path,
            line,
            frame.function,
            shortened(text, MOST_STATEMENT),
            at.target,
            at.kind,
            execution.first,
            shortened(at.old.text) if at.old is not None and _is_update(at, nodes) else None,
            shortened(new) if new is not None else None,
            self._values.reads(nodes, execution, skip=(at.target,)),
            self._conditions(query),
            iteration(self._values, execution),
            self._relays(query.via),
            note,
            query.parent,
        )

    def _conditions(self, query: Query) -> tuple[Condition, ...]:
        at = query.at
        execution = at.execution
        if at.kind is LinkKind.DEFAULT:
            return ()
        found = list(conditions(self._values, execution))
        if at.kind in (LinkKind.RETURN, LinkKind.RAISED):
            # Another return stood before this one, inside of the same branch.
            after = found[0].line if found else 0
            exits = untaken_exits(self._values, execution)
            found = [*(each for each in exits if each.line > after), *found]
        # What stayed as it was because a branch was not taken, here and where it was passed on.
        reader = (query.reader,) if query.reader is not None else ()
        for later, earlier in pairwise((*reader, *query.via, at)):
            if earlier.kind is LinkKind.WRITE and later.execution.frame == earlier.execution.frame:
                found += untaken_writes(
                    self._values, earlier.execution, earlier.target, later.execution.first
                )
        return tuple(dict.fromkeys(found))[:MOST_CONDITIONS]

    def _relays(self, via: tuple[EvaluatedAt, ...]) -> tuple[Relay, ...]:
        made: list[Relay] = []
        for at in via:
            frame = self._index.frames[at.execution.frame]
            statement = at.execution.statement
            text = statement.text if statement is not None else ""
            relay = Relay(
                frame.path,
                at.execution.line,
                frame.function,
                shortened(text or self._values.files.line(frame.path, at.execution.line), 60),
            )
            if not made or made[-1] != relay:
                made.append(relay)
        if len(made) > _SHOWN_RELAYS:
            made = [*made[: _SHOWN_RELAYS - 1], made[-1]]
        return tuple(made)

    def _moment(self, link: Link) -> int:
        """Return when a statement had its effect: after its calls, but for what it passed them."""
        step = self._index.step(link.step) if link.step is not None else None
        if step is None or link.kind in (LinkKind.ARGUMENT, LinkKind.DEFAULT):
            return link.step or 0
        # Functions that library code called meanwhile have no caller in the trace.
        following = self._values.next_step(self._values.execution(step))
        end = self._index.end(step)
        return end if following == NEVER else max(end, following - 1)

    def in_order(self) -> tuple[Link, ...]:
        """Return the links newest first, with `explains` renumbered."""
        order = sorted(range(len(self._links)), key=lambda i: -self._moment(self._links[i]))
        new = {old: index for index, old in enumerate(order)}
        return tuple(
            replace(
                self._links[old],
                explains=None if (by := self._links[old].explains) is None else new[by],
            )
            for old in order
        )


def _line_inside(query: Query, statement: Statement | None) -> int:
    """Return the line of the element that was followed into a dictionary or list written out."""
    line, inner = query.at.execution.line, query.node.position[0]
    if statement is None or query.at.kind is not LinkKind.WRITE:
        return line
    return inner if statement.first < inner <= statement.last else line


def _united(reads: tuple[ReadValue, ...], also: tuple[ReadValue, ...]) -> tuple[ReadValue, ...]:
    known = {each.expression for each in reads}
    return (*reads, *(each for each in also if each.expression not in known))


def _is_update(at: EvaluatedAt, nodes: list[Expression]) -> bool:
    """Whether the old value says something: of a part, or where the statement read it."""
    if not at.target.isidentifier():
        return True
    return any(each.text == at.target for node in nodes for each in node.paths())
