"""Where the value of an expression came from: the chain of writes in a trace that made it."""

from __future__ import annotations

from dataclasses import replace
from heapq import heapify, heappop, heappush

from freezeframe.model import late_regex
from freezeframe.model.questions import Explanation, Link, LinkKind
from freezeframe.model.trace import Trace, TracedStep

from .chain_links import MOST_CONDITIONS, MOST_STATEMENT, ChainLinks
from .deciding_calls import deciding_calls
from .decisions import innermost, untaken_raises
from .definitions import Definitions
from .differing_tokens import DifferingTokens, differing_tokens
from .expressions import Expression, Form, StatementKind, evaluated
from .first_texts import differing_part, differing_span, first_text
from .omitted_statements import omitted_links
from .operands import NEUTRAL
from .queries import Computed, EvaluatedAt, Query
from .read_operands import OBJECT, VALUE
from .source_files import Files, SourceLines
from .source_patterns import EXPECTING
from .text_spans import first_offset
from .trace_index import TraceIndex
from .traced_values import (
    RECEIVERS,
    Execution,
    TracedValues,
    called_name,
    shortened,
)
from .value_parts import first_difference, parts_of

#: links of a chain unless more are requested
DEFAULT_DEPTH = 7
#: statements that one value is passed on by: recursion may be a thousand deep
_MOST_RELAYS = 4000
#: assertions of equality, as test libraries call them
_EQUALITY = late_regex.compile(r"(?i)assert_?(\w+_?)?equals?")
#: how much later the second operand of a statement is followed than the first one
_RANK = 1.5
#: how much later an operand is followed than one that says more: an object than a plain value
_DISTANT = 3.0
#: how much later the key of an element is followed than what was put there
_KEY = 2.0
_MOST_KEYS = 2
_MOST_OMITTED = 2
#: links that are kept for the first text that has what differs
_FIRST_LINKS = 4
#: how much later the values of a branch are followed than those of the statement that it led to
_CONTROL = 3.0


def explain(
    trace: Trace,
    frame: int,
    step: int,
    expression: str,
    sources: SourceLines,
    *,
    depth: int = DEFAULT_DEPTH,
    expected: str | None = None,
    calls: int = 0,
) -> Explanation:
    """Return the chain of writes that made the value of *expression*, newest first.

    The expression is evaluated in *frame* before *step* was executed; a step after the last one of
    the frame is its end. An empty one stands for what the statement of the step evaluates.
    *expected* is the text of the value that *expression* was compared with: the first part that
    differs is followed. Of a failing test, *calls* is how many calls are named that may have
    decided the value without writing it. A chain holds only what the trace recorded; where the
    trace cannot say, `ends` says so.
    """
    chain = _Chain(trace, sources, depth)
    answer = chain.explain(frame, step, expression, expected)
    return chain.with_calls(answer, frame, step, expected, calls) if calls else answer


class _Chain:
    """One chain while it is found."""

    def __init__(self, trace: Trace, sources: SourceLines, depth: int) -> None:
        self._index = TraceIndex(trace)
        self._files = Files(sources)
        self._values = TracedValues(self._index, self._files)
        self._definitions = Definitions(self._values)
        self._depth = depth
        self._links = ChainLinks(self._values)
        self._ends: list[str] = []
        #: by call and function: the arguments that were passed, it is not known how
        self._unknown: dict[tuple[int, str], list[str]] = {}
        self._pending: list[tuple[float, int, Query]] = []
        self._pushed = 0
        #: branches that kept what was expected from being made
        self._omitted: list[Link] = []
        self._seen: set[tuple[int, int, str]] = set()
        #: the first text that has what differs, if the value is a text
        self._first: Query | None = None
        #: the frame and the step of the statement that the chain begins at
        self._begin = (0, 0)

    def explain(self, frame: int, step: int, expression: str, expected: str | None) -> Explanation:
        execution = self._execution(frame, step)
        self._begin = (execution.frame, execution.first)
        owner = self._index.frames[frame]
        statement = execution.statement
        node = self._node(execution, expression)
        if node is not None and (block := self._in_block(execution, node)) is not None:
            return self._expected(
                Explanation(expression, None, owner.path, block[0].line, owner.function), *block
            )
        if node is not None and _is_expecting(node):
            empty = Explanation(expression, None, owner.path, execution.line, owner.function)
            return self._expected(empty, execution, node)
        if not expression and statement is not None:
            node = statement.value
            expression = statement.text
        answer = Explanation(expression, None, owner.path, execution.line or None, owner.function)
        if node is None:
            return self._led_to(answer, execution)
        value = self._values.value(node, execution)
        text = self._values.text_at(value, execution.first) if value is not None else None
        at = EvaluatedAt(execution, expression, LinkKind.EXPRESSION, root=True)
        root = Query(node, at, value)
        if expected is None:
            expected = self._compared(node, execution)
        if text is not None and expected is not None:
            root = self._focused(root, text, expected)
        self._follow(root)
        if not root.focus:
            for found in self._definitions.writes_of_parts(root, self._depth - len(self._links)):
                self._follow_from(found)
        if statement is not None and statement.kind is StatementKind.RAISE:
            self._follow_conditions(execution, 0.0, None)
        self._first = self._first_text(root, text, expected)
        if text is not None and expected is not None:
            self._omitted = omitted_links(self._values, text, expected, execution, _MOST_OMITTED)
        return self._answered(answer, root, text)

    def _first_text(self, root: Query, text: str | None, expected: str | None) -> Query | None:
        """Return the first text with what differs from what it was compared with, or lacks."""
        if text is None:
            return None
        execution = root.at.execution
        if expected is None:
            part = self._should_have(root.node, execution)
            span = differing_part(text, part) if part is not None else None
        else:
            for name in root.focus:
                expected = (parts_of(expected) or {}).get(name, "")
            span = differing_span(root.part if root.focus and root.part else text, expected)
        return first_text(self._values, execution, span) if span is not None else None

    def _should_have(self, node: Expression, execution: Execution) -> str | None:
        """Return the text of what *node* should contain by the statement: `part in node`."""
        for root in evaluated(execution.statement):
            for each in root.walk():
                is_in = each.form is Form.OPERATION and each.name == "in"
                if is_in and len(each.operands) == 2 and each.operands[1] == node:
                    value = self._values.value(each.operands[0], execution)
                    return value.text if value is not None else None
        return None

    def with_calls(
        self, answer: Explanation, frame: int, step: int, expected: str | None, most: int
    ) -> Explanation:
        """Return the answer with the calls that may have decided the value."""
        execution = self._execution(frame, step)
        node = self._node(execution, answer.expression) if answer.expression else None
        if expected is None and node is not None:
            expected = self._compared(node, execution)
        part = self._should_have(node, execution) if node is not None else None
        tokens = DifferingTokens()
        if answer.value is not None and expected is not None:
            tokens = differing_tokens(answer.value, expected)
        elif answer.value is not None and part is not None:
            tokens = replace(differing_tokens(answer.value, part), extra=())
        known = {(each.path, each.line, each.step) for each in answer.links}
        found = deciding_calls(self._values, execution, tokens, most + len(known))
        others = [each for each in found if (each.path, each.line, each.step) not in known]
        return replace(answer, calls=tuple(others[:most]))

    def _in_block(
        self, execution: Execution, node: Expression
    ) -> tuple[Execution, Expression] | None:
        """Return the execution of a call in the block of a `with` that expects an exception."""
        block = execution.statement
        if block is None or block.kind is not StatementKind.WITH:
            return None
        if any(inner.text == node.text for root in evaluated(block) for inner in root.walk()):
            return None
        for step in reversed(self._index.steps_of(execution.frame)):
            if step.number < execution.first or block.last < step.line <= block.end:
                made = self._values.execution(step)
                for root in evaluated(made.statement):
                    inside = [each for each in root.walk() if each.text == node.text]
                    if inside:
                        return made, inside[0]
        return None

    def _expected(self, answer: Explanation, made: Execution, node: Expression) -> Explanation:
        """Return why a call did not raise, or why it raised what it did."""
        at = EvaluatedAt(made, answer.expression, LinkKind.EXPRESSION, root=True)
        value = self._values.value(node, made)
        root = Query(node, at, value)
        raised = next((each for each in made.steps if each.raised is not None), None)
        if raised is not None and _is_expecting(node) and self._is_of_assertion(raised):
            raised = None
        if raised is not None:
            self._follow_from(self._definitions.raised_at(root, raised))
            return self._answered(answer, root, None)
        untaken = untaken_raises(self._values, made)
        for rank, (header, statement) in enumerate(untaken[:MOST_CONDITIONS]):
            frame = self._index.frames[header.frame]
            condition = header.statement
            if condition is None:
                continue
            self._links.append(
                Link(
                    frame.path,
                    header.line,
                    frame.function,
                    shortened(condition.text, MOST_STATEMENT),
                    condition.text,
                    LinkKind.NOT_RAISED,
                    header.first,
                    reads=self._values.reads([condition.value], header),
                    note=f"line {statement.first} would have raised",
                ),
                header.frame,
            )
            if condition.value is not None:
                decided = EvaluatedAt(header, condition.text, LinkKind.EXPRESSION, root=True)
                for operand in self._definitions.operands_of(Query(condition.value, decided)):
                    self._push(replace(operand, parent=rank), 1.0 + rank)
        if not untaken:
            self._follow(root)
        return self._answered(answer, root, value.text if value is not None else None)

    def _is_of_assertion(self, raised: TracedStep) -> bool:
        """Whether an exception is the failure of an assertion that called a function."""
        inner = self._values.innermost_raise(raised)
        name = self._index.frames[inner.frame].function.rpartition(".")[2]
        return inner is raised or EXPECTING.fullmatch(name) is not None

    def _led_to(self, answer: Explanation, execution: Execution) -> Explanation:
        """Return why a statement without a value was executed."""
        if execution.statement is None or answer.expression != execution.statement.text:
            return replace(answer, ends=(f"{answer.expression} cannot be read as an expression",))
        self._follow_conditions(execution, 0.0, None)
        return self._answered(answer, None, None)

    def _answered(self, answer: Explanation, root: Query | None, text: str | None) -> Explanation:
        """Follow what is pending, and return the answer."""
        focus = root.focus if root is not None else ()
        part = f"{answer.expression}{''.join(focus)}" if focus else None
        most = self._depth - len(self._omitted)
        reserved = _FIRST_LINKS if self._first is not None else 0
        while self._pending and len(self._links) < most - reserved:
            self._follow(heappop(self._pending)[2])
        if self._first is not None:
            self._follow_first(self._first, most)
        for each in self._omitted:
            self._links.append(each, self._frame_of(each))
        links = self._links.in_order()
        left = {
            query.node.text: None
            for _, _, query in sorted(self._pending, key=lambda each: each[:2])
            if query.weight >= VALUE
        }
        return replace(
            answer,
            value=text,
            part=part,
            part_value=root.part if root is not None else None,
            links=links,
            ends=tuple(dict.fromkeys((*self._ends, *self._unknown_arguments()))),
            left_out=tuple(left)[:4],
        )

    def _follow_first(self, first: Query, most: int) -> None:
        """Follow the first text that has what differs, unless the chain has come there."""
        known = len(self._links)
        pending, self._pending = self._pending, []
        if not self._links.has(first.at.execution):
            self._follow(first)
            if len(self._links) > known:
                self._links.note(known, "the first text with what differs")
        while self._pending and len(self._links) < most:
            self._follow(heappop(self._pending)[2])
        self._pending += pending
        heapify(self._pending)

    def _frame_of(self, link: Link) -> int:
        step = self._index.step(link.step)
        return step.frame if step is not None else 0

    def _unknown_arguments(self) -> list[str]:
        return [
            f"how {', '.join(names)} {'was' if len(names) == 1 else 'were'} passed to {function}"
            " is not known"
            for (_, function), names in self._unknown.items()
        ]

    def _execution(self, frame: int, step: int) -> Execution:
        found = self._index.step(step)
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
        for root in evaluated(execution.statement):
            for inner in root.walk():
                if inner.text == node.text:
                    return inner
        return node

    def _compared(self, node: Expression, execution: Execution) -> str | None:
        """Return the text of the value that the statement compares *node* with for equality."""
        for root in evaluated(execution.statement):
            for each in root.walk():
                sides = each.operands
                if each.form is Form.CALL and _EQUALITY.fullmatch(called_name(each)):
                    sides = each.operands[1:3]
                elif each.form is not Form.OPERATION or each.name != "==":
                    continue
                if len(sides) == 2 and node in sides:
                    other = sides[1] if sides[0] == node else sides[0]
                    value = self._values.value(other, execution)
                    return self._values.text_at(value, execution.first) if value else None
        return None

    def _focused(self, root: Query, actual: str, expected: str) -> Query:
        focus = first_difference(actual, expected)
        part: str | None = actual
        other: str | None = expected
        for name in focus:
            part = (parts_of(part or "") or {}).get(name)
            other = (parts_of(other or "") or {}).get(name)
        offset = first_offset(part, other) if part is not None and other is not None else None
        return replace(root, focus=focus, part=part if focus else None, offset=offset)

    # --- following

    def _follow(self, query: Query) -> None:
        """Follow a value back to the statement that made it, and add that as a link."""
        self._follow_from(self._definitions.before(query))

    def _follow_from(self, found: Query | Computed) -> None:
        keys: list[Query] = []
        for _ in range(_MOST_RELAYS):
            if isinstance(found, Computed):
                break
            keys += _keys(found)
            found = self._definitions.before(found)
        else:
            self._ends.append(f"a value was passed on more than {_MOST_RELAYS} times")
            return
        assert isinstance(found, Computed)
        self._made(found, keys)

    def _made(self, found: Computed, keys: list[Query]) -> None:
        """Add the statement that made a value, and what it read to what is pending.

        *keys* chose the value among the elements of a list or dictionary.
        """
        query = found.query
        if self._is_own(query, found):
            return
        if found.end is not None:
            if query.at.target in RECEIVERS:
                return  # that a method was called by library code says nothing about a value
            self._ends.append(found.end)
        if found.passed_to is not None and self._is_unknown(query, found.passed_to):
            return
        if query.node.form is Form.DEFINITION and query.parent is not None:
            return  # an import or a class: what is read from it says enough
        at = query.at
        if at.kind is LinkKind.DEFAULT and query.parent is not None:
            return  # the statement that reads the parameter shows its value
        if self._is_plain_loop(found):
            return  # the statement that reads the variable shows its value, and the round
        key = (at.execution.frame, at.execution.first, at.target)
        if key in self._seen and not at.root:
            return
        self._seen.add(key)
        parent = query.parent
        is_round = parent is not None and self._links.is_round_before(query, parent)
        if not at.root and not is_round:
            parent = self._links.add(query, found.note)
        # What the statement itself computed is no relay.
        at = replace(at, root=True)
        operands = [replace(each, parent=parent, via=(), at=at) for each in found.operands]
        ranked = sorted(
            operands,
            key=lambda each: (each.weight, self._definitions.made_at(each)),
            reverse=True,
        )
        best = max((each.weight for each in ranked), default=VALUE)
        for rank, operand in enumerate(ranked):
            cost = query.cost + 1.0 + _RANK * rank
            if operand.weight < max(best, OBJECT) or _is_neutral(operand, query):
                cost += _DISTANT
            if is_round and at.target != operand.node.text:
                cost += _DISTANT  # what the statement read in a round before
            self._push(operand, cost)
        for chosen in keys[:_MOST_KEYS]:
            self._push(replace(chosen, parent=parent), query.cost + _KEY)
        if not query.at.root and not is_round:
            self._follow_conditions(at.execution, query.cost + _CONTROL, parent)

    def _is_unknown(self, query: Query, function: str) -> bool:
        """Note an argument whose origin is not known; whether a link shows the call already."""
        if query.at.target in RECEIVERS:
            return True
        names = self._unknown.setdefault((query.at.execution.first, function), [])
        if query.at.target not in names:
            names.append(query.at.target)
        return len(names) > 1

    def _is_own(self, query: Query, found: Computed) -> bool:
        """Whether a link would only repeat an argument of the chain's first statement."""
        if query.at.kind is not LinkKind.ARGUMENT or query.parent is None:
            return False
        own = (query.at.execution.frame, query.at.execution.first) == self._begin
        ended = found.end is not None or found.passed_to is not None
        return own and (query.node.form is Form.CONSTANT or ended)

    def _push(self, query: Query, cost: float) -> None:
        self._pushed += 1
        heappush(self._pending, (cost, self._pushed, replace(query, cost=cost)))

    def _follow_conditions(self, execution: Execution, cost: float, parent: int | None) -> None:
        """Follow the values that decided that a statement was executed."""
        found = innermost(self._values, execution)
        if found is None or found.statement is None or found.statement.value is None:
            return
        at = EvaluatedAt(found, found.statement.text, LinkKind.EXPRESSION, root=True)
        query = Query(found.statement.value, at, parent=parent)
        for rank, operand in enumerate(self._definitions.operands_of(query)):
            made = replace(operand, parent=parent, at=at)
            self._push(made, cost + 1.0 + rank + (_DISTANT if operand.weight < VALUE else 0.0))

    def _is_plain_loop(self, found: Computed) -> bool:
        """Whether a value is the variable of a loop over something that was not computed."""
        query, statement = found.query, found.query.at.execution.statement
        if statement is None or statement.kind is not StatementKind.FOR or query.parent is None:
            return False
        if found.end is not None or query.at.kind is not LinkKind.WRITE:
            return False
        return not any(query.node.paths()) and not self._values.calls(query.at.execution)


def _is_expecting(node: Expression) -> bool:
    """Whether a call expects an exception of a function: `raises(ValueError, parse, text)`."""
    is_call = node.form is Form.CALL and len(node.operands) > 2
    return is_call and EXPECTING.fullmatch(called_name(node)) is not None


def _keys(query: Query) -> list[Query]:
    """Return the computed key of the element that a query reads."""
    node = query.node
    if node.form is not Form.PART or len(node.operands) < 2:
        return []
    key = node.operands[1]
    if key.form in (Form.CONSTANT, Form.OTHER):
        return []
    return [Query(key, replace(query.at, root=True))]


def _is_neutral(operand: Query, query: Query) -> bool:
    """Whether an operand is what a sum or a text began with, and so says nothing."""
    if query.node.name != "+" or operand.node.text != query.at.target:
        return False
    return operand.value is not None and operand.value.text in NEUTRAL
