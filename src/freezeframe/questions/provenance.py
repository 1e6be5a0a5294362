"""Where the value of an expression came from: the chain of writes in a trace that made it."""

from __future__ import annotations

from dataclasses import replace
from heapq import heappop, heappush

from freezeframe.model.questions import Condition, Explanation, Link, LinkKind, Relay
from freezeframe.model.trace import Trace, TracedStep

from .decisions import conditions, iteration, untaken_exits, untaken_writes
from .definitions import Definitions
from .expressions import Expression, Form, Statement, StatementKind
from .operands import VALUE
from .queries import Computed, EvaluatedAt, Query
from .trace_index import TraceIndex
from .traced_values import Execution, Files, SourceLines, TracedValues, shortened
from .value_parts import differing_text, first_difference, parts_of

#: links of a chain unless more are requested
DEFAULT_DEPTH = 7
#: statements that one value is passed on by: recursion may be a thousand deep
_MOST_RELAYS = 4000
_SHOWN_RELAYS = 4
#: how much later objects are followed than plain values: their parts have chains of their own
_DISTANT = 3.0
_MOST_STATEMENT = 120


def explain(
    trace: Trace,
    frame: int,
    step: int,
    expression: str,
    sources: SourceLines,
    *,
    depth: int = DEFAULT_DEPTH,
    expected: str | None = None,
) -> Explanation:
    """Return the chain of writes that made the value of *expression*, newest first.

    The expression is evaluated in *frame* before *step* was executed; a step after the last one of
    the frame is its end. *expected* is the text of the value that *expression* was compared with:
    the first part that differs is followed. A chain holds only what the trace recorded; where the
    trace cannot say, `ends` says so.
    """
    return _Chain(trace, sources, depth).explain(frame, step, expression, expected)


class _Chain:
    """One chain while it is found."""

    def __init__(self, trace: Trace, sources: SourceLines, depth: int) -> None:
        self._index = TraceIndex(trace)
        self._files = Files(sources)
        self._values = TracedValues(self._index, self._files)
        self._definitions = Definitions(self._values)
        self._depth = depth
        self._links: list[Link] = []
        self._ends: list[str] = []
        self._pending: list[tuple[float, int, int, Query]] = []
        self._seen: set[tuple[int, int, str]] = set()

    def explain(self, frame: int, step: int, expression: str, expected: str | None) -> Explanation:
        execution = self._execution(frame, step)
        node = self._node(execution, expression)
        owner = self._index.frames[frame]
        answer = Explanation(expression, None, owner.path, execution.line or None, owner.function)
        if node is None:
            return replace(answer, ends=(f"{expression} cannot be read as an expression",))
        value = self._values.value(node, execution)
        text = self._values.text_at(value, execution.first) if value is not None else None
        root = Query(
            node, EvaluatedAt(execution, expression, LinkKind.EXPRESSION, root=True), value
        )
        if text is not None and expected is not None:
            root = self._focused(root, text, expected)
        part = f"{expression}{''.join(root.focus)}" if root.focus else None
        self._follow(root)
        while self._pending and len(self._links) < self._depth:
            self._follow(heappop(self._pending)[3])
        links = self._in_order()
        left = {
            each[3].node.text: None
            for each in sorted(self._pending, key=lambda each: each[:3])
            if each[3].weight >= VALUE
        }
        return replace(
            answer,
            value=text,
            part=part,
            part_value=root.part,
            links=links,
            ends=tuple(dict.fromkeys(self._ends)),
            left_out=tuple(left)[:4],
        )

    def _execution(self, frame: int, step: int) -> Execution:
        found = self._index.steps.get(step)
        if found is not None and found.frame == frame:
            return self._values.execution(found)
        steps = self._index.steps_of(frame)
        line = steps[-1].line if steps else self._index.frames[frame].first_line
        return Execution(frame, (TracedStep(step, frame, line),), None)

    def _node(self, execution: Execution, expression: str) -> Expression | None:
        """Return the expression; as the statement has it, so that its calls are found."""
        source = self._files.file(self._index.frames[execution.frame].path)
        node = source.expression(expression) if source is not None else None
        if node is None:
            return None
        for root in _expressions(execution.statement):
            for inner in root.walk():
                if inner.text == node.text:
                    return inner
        return node

    def _focused(self, root: Query, actual: str, expected: str) -> Query:
        focus = first_difference(actual, expected)
        part: str | None = actual
        other: str | None = expected
        for name in focus:
            part = (parts_of(part or "") or {}).get(name)
            other = (parts_of(other or "") or {}).get(name)
        needle = differing_text(part, other) if part is not None and other is not None else None
        return replace(root, focus=focus, part=part if focus else None, needle=needle)

    # --- following

    def _follow(self, query: Query) -> None:
        """Follow a value back to the statement that made it, and add that as a link."""
        for _ in range(_MOST_RELAYS):
            found = self._definitions.before(query)
            if isinstance(found, Computed):
                break
            query = found
        else:
            self._ends.append(f"{query.node.text} was passed on more than {_MOST_RELAYS} times")
            return
        query = found.query
        if found.end is not None:
            self._ends.append(found.end)
        if query.node.form is Form.DEFINITION and query.parent is not None:
            return  # an import or a class: what is read from it says enough
        at = query.at
        key = (at.execution.frame, at.execution.first, at.target)
        if key in self._seen and not at.root:
            return
        self._seen.add(key)
        parent = query.parent
        if not at.root:
            parent = len(self._links)
            self._links.append(self._link(query, found.note))
        # What the statement itself computed is no relay.
        at = replace(at, root=True)
        operands = [replace(each, parent=parent, via=(), at=at) for each in found.operands]
        ranked = sorted(
            operands,
            key=lambda each: (
                each.weight,
                each.node.text == at.target,
                self._definitions.made_at(each),
            ),
            reverse=True,
        )
        for rank, operand in enumerate(ranked):
            cost = query.cost + 1.0 + rank + (_DISTANT if operand.weight < VALUE else 0)
            heappush(self._pending, (cost, len(self._seen), rank, replace(operand, cost=cost)))

    # --- links

    def _link(self, query: Query, note: str | None) -> Link:
        at = query.at
        execution = at.execution
        frame = self._index.frames[execution.frame]
        statement = execution.statement
        text = statement.text if statement is not None else ""
        text = text or self._files.line(frame.path, execution.line)
        nodes = _expressions(statement) if statement is not None else []
        return Link(
            frame.path,
            execution.line,
            frame.function,
            shortened(text, _MOST_STATEMENT),
            at.target,
            at.kind,
            execution.first,
            shortened(at.old.text) if at.old is not None and _is_update(at, nodes) else None,
            shortened(at.new.text) if at.new is not None else None,
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
        if at.kind is LinkKind.RETURN and not found:
            found += untaken_exits(self._values, execution)
        if at.kind is LinkKind.WRITE:
            reader = query.via[-1].execution if query.via else None
            moment = reader.first if reader is not None else None
            if moment is not None and reader is not None and reader.frame == execution.frame:
                found += untaken_writes(self._values, execution, at.target, moment)
        return tuple(found)

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
                shortened(text or self._files.line(frame.path, at.execution.line), 60),
            )
            if not made or made[-1] != relay:
                made.append(relay)
        if len(made) > _SHOWN_RELAYS:
            made = [*made[: _SHOWN_RELAYS - 1], made[-1]]
        return tuple(made)

    def _in_order(self) -> tuple[Link, ...]:
        """Return the links newest first, with `explains` renumbered."""
        order = sorted(range(len(self._links)), key=lambda i: -(self._links[i].step or 0))
        new = {old: index for index, old in enumerate(order)}
        return tuple(
            replace(
                self._links[old],
                explains=None if (by := self._links[old].explains) is None else new[by],
            )
            for old in order
        )


def _is_update(at: EvaluatedAt, nodes: list[Expression]) -> bool:
    """Whether the old value says something: of a part, or where the statement read it."""
    if not at.target.isidentifier():
        return True
    return any(each.text == at.target for node in nodes for each in node.paths())


def _expressions(statement: Statement | None) -> list[Expression]:
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
