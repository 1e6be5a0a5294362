"""Which operands of an expression decided its value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .expressions import Expression, Form
from .library_calls import callbacks
from .queries import Query
from .read_operands import DECIDED, OBJECT, ReadOperands
from .text_operands import TextOperands, is_text
from .text_spans import plain_text
from .traced_values import TracedValues, called_name, is_equal
from .value_parts import elements_of, index_of, is_zero, parts_of, truth

#: functions of Python whose result is one of the elements, or all of them in another order
_SELECTING = frozenset(
    ("min", "max", "next", "sorted", "list", "tuple", "set", "reversed", "iter", "pop")
)
_REORDERING = frozenset(("sorted", "list", "tuple", "set", "frozenset", "reversed"))
#: functions of Python whose result is their argument in another type
_CONVERTING = frozenset(("int", "str", "float", "list", "tuple", "iter"))

#: functions whose last argument is the text that they edit
_SUBSTITUTING = frozenset(("sub", "subn"))
#: methods of strings that may return their text as it is
_EDITING = _SUBSTITUTING | frozenset(
    ("strip", "lstrip", "rstrip", "replace", "lower", "upper", "casefold", "title", "translate")
)

_ARITHMETIC = frozenset(("+", "-", "*", "/", "//", "|", "&", "%"))
#: characters of a value that two variables do not have by chance
_LONG_ENOUGH = 6

#: what adds nothing to a sum or a text
NEUTRAL = frozenset(("0", "0.0", "''", '""', "[]", "()", "b''"))


class Operands(ReadOperands):
    """Chooses what to follow by the values that were recorded."""

    def __init__(self, values: TracedValues) -> None:
        super().__init__(values)
        self._texts = TextOperands(values)

    def of(self, query: Query) -> tuple[Query, ...]:
        """Return the operands of the query's expression, each with a weight."""
        chosen = self._decided(query)
        every = self._every(query.node, query)
        nodes = {each.node for each in chosen}
        return (*chosen, *(each for each in every if each.node not in nodes))

    def passed_on(self, query: Query) -> Query | None:
        """Return the operand that the value is, unchanged; None if it was computed."""
        node = query.node
        if node.form is Form.SAME:
            return replace(query, node=node.operands[0])
        if self._is_conversion(query):
            return replace(query, node=node.operands[1], value=None)
        if node.form is Form.ITEM:
            return replace(
                query, node=node.operands[0], value=None, focus=(node.name, *query.focus)
            )
        if node.form is Form.CHOICE:
            return self._chosen_arm(query)
        if node.form is Form.LOGIC:
            return self._last_evaluated(query)
        if node.form is Form.DISPLAY and query.focus:
            return self._displayed(query)
        if node.form is Form.COMPREHENSION and query.focus:
            return self._element_made(query)
        if is_text(node):
            return self._whole(query) or self._texts.around(query) or self._unchanged(query)
        if node.form is Form.CALL and called_name(node) in _EDITING:
            return self._unedited(query) or self._unchanged(query)
        if node.form is Form.CALL and called_name(node) in _REORDERING and query.focus:
            return self._reordered(query)
        if node.form is Form.CALL or (node.form is Form.OPERATION and node.name in _ARITHMETIC):
            return self._unchanged(query)
        return None

    def _reordered(self, query: Query) -> Query | None:
        """Return the elements that were put in another order or container, with the followed one.

        An element of a set has no name; it is followed by its text.
        """
        if len(query.node.operands) < 2 or query.part is None:
            return None
        if self._values.called(query.at.execution, query.node) is not None:
            return None
        node = query.node.operands[1]
        if node.form is Form.CALL and called_name(node) in _REORDERING:
            return self._reordered(replace(query, node=node, value=None))
        value = self._value(node, query)
        if value is None or node.form not in (Form.NAME, Form.PART, Form.CALL):
            return None
        text = self._values.text_at(value, query.at.execution.first)
        parts = parts_of(text)
        names = [name for name, part in (parts or {}).items() if part == query.part]
        if parts is None and query.part in elements_of(text):
            names = [f"{{{query.part}}}"]
        if len(names) != 1:
            return None
        return replace(query, node=node, value=value, focus=(names[0], *query.focus[1:]))

    def _unchanged(self, query: Query) -> Query | None:
        """Return the operand whose value the result is: of a copy, of `x.replace(second=0)`."""
        if query.value is None or query.called is not None:
            return None
        node, text = query.node, query.value.text
        is_call = node.form is Form.CALL
        if is_call and self._values.called(query.at.execution, node) is not None:
            return None
        alike: dict[str, Query] = {}
        for each in self._every(node, query):
            if each.value is None or each.value.type != query.value.type:
                continue
            is_specific = len(text) >= _LONG_ENOUGH or each.node.text == query.at.target
            if is_specific and self._values.text_at(each.value, query.at.execution.first) == text:
                alike.setdefault(each.node.text, each)
        if len(alike) != 1:
            return None
        [one] = alike.values()
        return replace(query, node=one.node, value=one.value)

    def _unedited(self, query: Query) -> Query | None:
        """Return the text that a method of strings returned as it was: `line.strip()`."""
        if query.value is None or plain_text(query.value.text) in (None, ""):
            return None
        if self._values.called(query.at.execution, query.node) is not None:
            return None
        function, *arguments = query.node.operands
        subject = arguments[-1:] if called_name(query.node) in _SUBSTITUTING else function.operands
        for node in subject[:1]:
            value = self._value(node, query)
            if value is not None and value.text == query.value.text:
                return replace(query, node=node, value=value)
        return None

    def _whole(self, query: Query) -> Query | None:
        """Return the operand that is the whole of a text or sum; the others add nothing."""
        if query.value is None or query.focus:
            return None
        found = [
            (node, value)
            for node in query.node.operands
            if (value := self._value(node, query)) is None or value.text not in NEUTRAL
        ]
        if len(found) != 1:
            return None
        node, value = found[0]
        if value is None or value.text != query.value.text or node.form is Form.CONSTANT:
            return None
        return replace(query, node=node, value=value)

    def _is_conversion(self, query: Query) -> bool:
        node = query.node
        if node.form is not Form.CALL or called_name(node) not in _CONVERTING:
            return False
        return len(node.operands) == 2 and self._values.called(query.at.execution, node) is None

    # --- values that are passed on

    def _chosen_arm(self, query: Query) -> Query | None:
        condition, then, other = query.node.operands
        known = self._truth(condition, query)
        if known is None:
            values = [self._value(each, query) for each in (then, other)]
            matches = [
                value is not None and query.value is not None and is_equal(value, query.value)
                for value in values
            ]
            if query.value is None or None in values or matches[0] == matches[1]:
                return None
            known = matches[0]
        return replace(query, node=then if known else other)

    def _last_evaluated(self, query: Query) -> Query | None:
        stops_at = query.node.name == "or"
        for operand in query.node.operands[:-1]:
            known = self._truth(operand, query)
            if known is None:
                return None
            if known is stops_at:
                return replace(query, node=operand)
        return replace(query, node=query.node.operands[-1])

    def _displayed(self, query: Query) -> Query | None:
        node, part = query.node, query.focus[0]
        if node.name == "dict":
            labels = [f"[{label}]" for label in node.labels]
            if part in labels and "**" not in node.labels[labels.index(part) :]:
                index = len(labels) - 1 - labels[::-1].index(part)
                return self._inner(query, node.operands[index], query.focus[1:])
            spread = [n for n, each in zip(node.operands, node.labels, strict=True) if each == "**"]
            if len(spread) == 1:
                return self._inner(query, spread[0], query.focus)
            return None
        if "*" not in node.labels and part[1:-1].isdigit():
            index = int(part[1:-1])
            if index < len(node.operands):
                return self._inner(query, node.operands[index], query.focus[1:])
        return None

    def _inner(self, query: Query, node: Expression, focus: tuple[str, ...]) -> Query:
        return replace(query, node=node, value=self._value(node, query), focus=focus)

    def _element_made(self, query: Query) -> Query | None:
        """Return the call, or the element, that a followed element of a comprehension is."""
        node = query.node
        element, source = node.operands[0], node.operands[1]
        index = index_of(query.focus[0])
        exact = index is not None and not node.labels and len(node.operands) == 2
        if node.name in ("dict", "set"):
            exact = False
        if element.form is Form.CALL:
            frames = [
                frame
                for frame in self._values.calls_inside(query.at.execution)
                if frame.call_site == element.position
            ]
            if not exact or index is None or index >= len(frames):
                alike = [f for f in frames if f.returned and f.returned.text == query.part]
                frames, index = alike, 0 if len(alike) == 1 else None
            if index is None:
                return None
            made = frames[index]
            return replace(
                query,
                node=element,
                value=made.returned,
                focus=query.focus[1:],
                called=made.number,
            )
        if exact and element.form is Form.NAME and element.text == node.targets[0].text:
            inner = Expression(
                source.text, Form.ELEMENT, source.position, (source,), query.focus[0]
            )
            return replace(query, node=inner, value=None, focus=query.focus[1:])
        return None

    # --- operands of what was computed

    def _decided(self, query: Query) -> tuple[Query, ...]:
        node = query.node
        if node.name == "*" and query.value is not None and is_zero(query.value.text):
            return tuple(
                self._operand(query, each, DECIDED)
                for each in node.operands
                if (found := self._value(each, query)) is not None and is_zero(found.text)
            )[:1]
        if given := self._by_callback(query):
            return given
        if query.offset is not None:
            written = tuple(self._texts.writing(query))
            if written:
                return written
        if node.form is Form.OPERATION and node.name == "+" and query.focus:
            return tuple(self._summand(query))
        if node.form is Form.COMPREHENSION and query.focus and not node.labels:
            source = node.operands[1]
            if index_of(query.focus[0]) is not None and source.form in (Form.NAME, Form.PART):
                return (self._operand(query, source, DECIDED, focus=query.focus[:1]),)
        if node.form is Form.CALL:
            return tuple(self._selected(query)) or tuple(self._stored(query))
        return ()

    def _by_callback(self, query: Query) -> tuple[Query, ...]:
        """Return the only result of a function that library code was given: `re.sub(f, text)`."""
        if query.node.form is not Form.CALL or query.called is not None or query.focus:
            return ()
        if self._values.called(query.at.execution, query.node) is not None:
            return ()
        frames = callbacks(self._values, query)
        if len({each.returned.text for each in frames if each.returned is not None}) != 1:
            return ()
        made = Query(query.node, query.at, frames[-1].returned, called=frames[-1].number)
        return (replace(made, weight=DECIDED),)

    def _stored(self, query: Query) -> Iterator[Query]:
        """Yield the argument that a field or element of the result was made of, if one can be."""
        if not query.focus:
            return
        node = query.node
        name = query.focus[0].removeprefix(".")
        for label, argument in zip(node.labels, node.operands[1:], strict=True):
            if label == name:
                yield self._operand(query, argument, DECIDED, focus=query.focus[1:])
                return
        alike = [
            each
            for each in self._every(node, query)
            if each.value is not None and each.value.text == query.part
        ]
        if len(alike) == 1:
            yield replace(alike[0], weight=DECIDED)

    def _summand(self, query: Query) -> Iterator[Query]:
        part = query.focus[0]
        if not part[1:-1].isdigit():
            return
        index = int(part[1:-1])
        for node in query.node.operands:
            value = self._value(node, query)
            if value is None:
                if node is query.node.operands[-1] and node.form is not Form.CONSTANT:
                    inside = self._every(node, query)
                    yield from (replace(each, weight=max(each.weight, OBJECT)) for each in inside)
                return
            length = len(elements_of(self._values.text_at(value, query.at.execution.first)))
            if index < length:
                yield self._operand(
                    query, node, DECIDED, focus=(f"[{index}]", *query.focus[1:]), part=query.part
                )
                return
            index -= length

    def _selected(self, query: Query) -> Iterator[Query]:
        """Yield the argument of `min(xs)` with the element that is the result."""
        text = query.part if query.focus else query.value.text if query.value is not None else None
        if called_name(query.node) not in _SELECTING or text is None:
            return
        if query.focus and called_name(query.node) in ("min", "max", "next"):
            return
        if called_name(query.node) == "pop":
            yield from self._popped(query)
            return
        for each in self._every(query.node, query):
            if each.value is None:
                continue
            current = self._values.text_at(each.value, query.at.execution.first)
            parts = parts_of(current) or {}
            found = [name for name, part in parts.items() if part == text]
            if found and (len(found) == 1 or called_name(query.node) in ("min", "max")):
                focus = (found[0], *query.focus[1:])
                yield replace(each, weight=DECIDED, focus=focus, part=text)
                return

    def _popped(self, query: Query) -> Iterator[Query]:
        """Yield the list of `xs.pop()` with its last element."""
        function = query.node.operands[0]
        if len(query.node.operands) > 1 or function.form is not Form.PART:
            return
        node = function.operands[0]
        value = self._value(node, query)
        if value is None or value.type != "list":
            return
        count = len(elements_of(self._values.text_at(value, query.at.execution.first)))
        if count:
            last = (f"[{count - 1}]", *query.focus)
            yield self._operand(query, node, DECIDED, focus=last)

    # --- values

    def _truth(self, node: Expression, query: Query) -> bool | None:
        if node.form is Form.OPERATION and node.name == "not":
            inner = self._truth(node.operands[0], query)
            return None if inner is None else not inner
        if node.form is Form.OPERATION and node.name in ("is", "is not"):
            left, right = (self._value(each, query) for each in node.operands)
            if left is None or right is None or right.text != "None":
                return None
            return (left.text == "None") == (node.name == "is")
        value = self._value(node, query)
        return truth(value.text) if value is not None else None
