"""Which operands of an expression decided its value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from freezeframe.model.trace import TracedFrame, TracedValue
from freezeframe.model.values import is_cut

from .expressions import Expression, Form
from .library_calls import callbacks
from .queries import Query
from .text_spans import covering, known_text, plain_text, spans
from .traced_values import RECEIVERS, SILENT_TYPES, TracedValues, called_name, is_equal
from .value_parts import elements_of, index_of, is_zero, parts_of, truth

#: functions of Python whose result is one of the elements, or all of them in another order
_SELECTING = frozenset(
    ("min", "max", "next", "sorted", "list", "tuple", "set", "reversed", "iter", "pop")
)
#: functions of Python whose result is their argument in another type
_CONVERTING = frozenset(("int", "str", "float", "list", "tuple", "iter"))

#: functions whose last argument is the text that they edit
_SUBSTITUTING = frozenset(("sub", "subn"))
#: methods of strings that may return their text as it is
_EDITING = _SUBSTITUTING | frozenset(
    ("strip", "lstrip", "rstrip", "replace", "lower", "upper", "casefold", "title", "translate")
)

_MOST_ELEMENTS = 2000

DECIDED, VALUE, OBJECT, RECEIVER = 3, 2, 1, 0
#: what adds nothing to a sum or a text
NEUTRAL = frozenset(("0", "0.0", "''", '""', "[]", "()", "b''"))


class Operands:
    """Chooses what to follow by the values that were recorded."""

    def __init__(self, values: TracedValues) -> None:
        self._values = values

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
        if node.form is Form.TEXT or (node.form is Form.OPERATION and node.name == "+"):
            return self._whole(query)
        if node.form is Form.CALL and called_name(node) in _EDITING:
            return self._unedited(query)
        return None

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

    def _every(
        self, node: Expression, query: Query, bound: frozenset[str] = frozenset()
    ) -> Iterator[Query]:
        """Yield what an expression reads: variables, fields, elements, results of calls."""
        operands = node.operands
        if node.targets:
            bound |= {each.name for target in node.targets for each in target.walk()}
        if node.form is Form.CALL:
            function, *arguments = operands
            owner = function.operands[:1] if function.form is Form.PART else ()
            operands = (*owner, *arguments)
        for operand in operands:
            if operand.form in (Form.NAME, Form.PART) and operand.root.name not in bound:
                made = self._operand(query, operand)
                if made.value is None:
                    # Names that were not recorded are functions, classes and modules.
                    if operand.form is Form.PART and self._value(operand.root, query) is not None:
                        yield made
                elif made.value.type not in SILENT_TYPES:
                    yield made
            elif operand.form is Form.CALL and not any(n.name in bound for n in operand.walk()):
                yield self._operand(query, operand)
            elif operand.form not in (Form.CONSTANT, Form.DEFINITION):
                yield from self._every(operand, query, bound)

    def _operand(
        self, query: Query, node: Expression, weight: int | None = None, **changes: object
    ) -> Query:
        value = self._value(node, query)
        if weight is None:
            weight = VALUE if value is None or value.object is None else OBJECT
            if node.name in RECEIVERS:
                weight = RECEIVER
        made = Query(node, query.at, value, weight=weight)
        return replace(made, **changes) if changes else made  # type: ignore[arg-type]

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
            written = tuple(self._writing(query))
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

    def _writing(self, query: Query) -> Iterator[Query]:
        """Yield the operands that wrote the character which is followed."""
        known = known_text(query.value.text) if query.value is not None else None
        if known is None or query.offset is None:
            return
        node = query.node
        if node.form is Form.TEXT or (node.form is Form.OPERATION and node.name == "+"):
            texts = [self._string(each, query) for each in node.operands]
            found = spans(known[0], texts)
            for index in covering(found, query.offset):
                span, operand = found[index], node.operands[index]
                offset = query.offset - span[0] if span and texts[index] is not None else None
                if operand.form in (Form.NAME, Form.PART, Form.CALL):
                    yield self._operand(query, operand, DECIDED, offset=offset)
                elif operand.form not in (Form.CONSTANT, Form.DEFINITION):
                    for each in self._every(operand, query):
                        yield replace(each, weight=DECIDED)
        elif node.form is Form.CALL and called_name(node) == "join" and len(node.operands) == 2:
            yield from self._joined(query, known[0])
        elif node.form is Form.CALL:
            near = known[0][query.offset : query.offset + 6]
            for each in self._every(node, query):
                text = known_text(each.value.text) if each.value is not None else None
                if text is not None and near and near in text[0]:
                    yield replace(each, weight=DECIDED, offset=text[0].index(near))

    def _joined(self, query: Query, whole: str) -> Iterator[Query]:
        """Yield the element of `sep.join(elements)` that wrote the character."""
        function, elements = query.node.operands
        glue = self._string(function.operands[0], query) if function.operands else None
        if glue is None or query.offset is None:
            return
        texts: list[str | None]
        frames: list[TracedFrame] = []
        if elements.form is Form.COMPREHENSION:
            element = elements.operands[0]
            frames = [
                frame
                for frame in self._values.calls_inside(query.at.execution)
                if frame.call_site == element.position
            ]
            texts = [plain_text(f.returned.text) if f.returned else None for f in frames]
        elif elements.form is Form.CALL and (
            steps := self._values.yields(query.at.execution, elements)
        ):
            texts = [plain_text(each.yielded.text) if each.yielded else None for each in steps]
            elements = Expression(elements.text, Form.ELEMENT, elements.position, (elements,))
        elif elements.form is Form.DISPLAY and "*" not in elements.labels:
            texts = [self._string(each, query) for each in elements.operands]
        else:
            value = self._value(elements, query)
            texts = [plain_text(each) for each in self._elements(value, query)]
        parts = [part for each in texts for part in (glue, each)][1:]
        found = spans(whole, parts)
        for index in covering(found, query.offset):
            span = found[index]
            if span is None:
                continue
            offset = query.offset - span[0] if parts[index] is not None else None
            if index % 2:  # the text between two elements: without the next one it is not there
                index, offset = index + 1, None
            if frames:
                made = self._operand(query, elements.operands[0], DECIDED, offset=offset)
                frame = frames[index // 2]
                yield replace(made, called=frame.number, value=frame.returned)
            elif elements.form is Form.ELEMENT:
                one = replace(elements, name=f"[{index // 2}]")
                yield Query(one, query.at, None, offset=offset, weight=DECIDED)
            elif elements.form is Form.DISPLAY:
                element = elements.operands[index // 2]
                if element.form is not Form.CONSTANT:
                    yield self._operand(query, element, DECIDED, offset=offset)
            else:
                focus = (f"[{index // 2}]",)
                yield self._operand(query, elements, DECIDED, offset=offset, focus=focus)

    def _elements(self, value: TracedValue | None, query: Query) -> list[str]:
        """Return the texts of a list's elements; by what was put into it, where its text is cut."""
        if value is None:
            return []
        moment = query.at.execution.first
        text = self._values.text_at(value, moment)
        found = elements_of(text)
        if value.object is None or not (is_cut(text) or text.endswith("…")):
            return found
        put: list[str] = []
        while len(put) < _MOST_ELEMENTS:
            seen = self._values.index.part_seen(value.object, f"[{len(put)}]", moment)
            if seen is None:
                break
            put.append(seen.text)
        return put if len(put) > len(found) else found

    def _string(self, node: Expression, query: Query) -> str | None:
        """Return what an operand adds to a text, None if that is not known."""
        value = self._value(node, query)
        if value is None:
            return None
        text = plain_text(value.text)
        if text is None and value.type in ("int", "bool", "NoneType"):
            return value.text
        return text

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

    def _value(self, node: Expression, query: Query) -> TracedValue | None:
        return self._values.value(node, query.at.execution)

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
