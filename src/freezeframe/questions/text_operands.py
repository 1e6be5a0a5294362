"""Which operand of a text wrote the character that is followed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from freezeframe.model.trace import TracedFrame, TracedValue
from freezeframe.model.values import is_cut

from .expressions import Expression, Form
from .queries import Query
from .read_operands import DECIDED, ReadOperands
from .text_spans import covering, known_text, plain_text, spans
from .traced_values import called_name
from .value_parts import elements_of

_MOST_ELEMENTS = 2000
#: characters that say which text a character is of
_NEAR = 6


class TextOperands(ReadOperands):
    """Follows one character of a text."""

    def around(self, query: Query) -> Query | None:
        """Return the operand that the followed character is inside of; others stand around it.

        A character at the beginning of an operand may be there because something is missing
        before it: then the statement that put the text together says more than its operand.
        """
        if query.offset is None or query.value is None or query.focus:
            return None
        known = known_text(query.value.text)
        if known is None:
            return None
        nodes = _summands(query.node)
        texts = [self._string(each, query) for each in nodes]
        for node, text, span in zip(nodes, texts, spans(known[0], texts), strict=True):
            if text is None or span is None or not span[0] < query.offset < span[1]:
                continue
            value = self._value(node, query)
            is_string = value is not None and plain_text(value.text) is not None
            if is_string and node.form in (Form.NAME, Form.PART, Form.CALL):
                return replace(query, node=node, value=value, offset=query.offset - span[0])
        return None

    def writing(self, query: Query) -> Iterator[Query]:
        """Yield the operands that wrote the character which is followed."""
        known = known_text(query.value.text) if query.value is not None else None
        if known is None or query.offset is None:
            return
        node = query.node
        if is_text(node):
            nodes = _summands(node)
            texts = [self._string(each, query) for each in nodes]
            found = spans(known[0], texts)
            for index in covering(found, query.offset):
                span, operand = found[index], nodes[index]
                offset = query.offset - span[0] if span and texts[index] is not None else None
                if operand.form in (Form.NAME, Form.PART, Form.CALL):
                    yield self._operand(query, operand, DECIDED, offset=offset)
                elif operand.form not in (Form.CONSTANT, Form.DEFINITION):
                    for each in self._every(operand, query):
                        yield replace(each, weight=DECIDED)
        elif node.form is Form.CALL and called_name(node) == "join" and len(node.operands) == 2:
            yield from self._joined(query, known[0])
        elif node.form is Form.CALL:
            near = known[0][query.offset : query.offset + _NEAR]
            is_given = False
            for each in self._every(node, query):
                text = known_text(each.value.text) if each.value is not None else None
                if text is not None and near and near in text[0]:
                    is_given = True
                    yield replace(each, weight=DECIDED, offset=text[0].index(near))
            owner = node.operands[0].operands[:1] if node.operands[0].form is Form.PART else ()
            if near and not is_given and owner and owner[0].form in (Form.NAME, Form.PART):
                written = TracedValue(repr(near), "str")
                yield self._operand(query, owner[0], DECIDED, near=written, offset=0)

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


def is_text(node: Expression) -> bool:
    """Whether an expression may put a text together: `a + b`, a format string."""
    return node.form is Form.TEXT or (node.form is Form.OPERATION and node.name == "+")


def _summands(node: Expression) -> tuple[Expression, ...]:
    """Return the operands of a text, those of sums inside of it in their place."""
    found: list[Expression] = []
    for operand in node.operands:
        is_sum = operand.form is Form.OPERATION and operand.name == "+"
        found += _summands(operand) if is_sum else (operand,)
    return tuple(found)
