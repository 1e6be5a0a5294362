"""Values that can be opened, at one stop: as the probe tells them, or as objects of gdb's."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

from freezeframe.backends.backend import RawValue
from freezeframe.backends.console.reader import Fields, quote
from freezeframe.backends.gdb.texts import tidy
from freezeframe.model.values import ScopeKind

from .line import Answered, GdbRefused, Line, at, rows
from .shapes import Node, has_parts, nodes_of, plain_path

#: children fetched at once when nobody says how many
PAGE = 200
#: what is worth more than its type: a struct's or an array's place holder
FOLDED = re.compile(r"\{\.\.\.\}|\[\d+\]|\{\}")
ADDRESS = re.compile(r"0x[0-9a-f]+")
_UNREADABLE = re.compile(r"<error(?: reading variable)?: (.*)>", re.DOTALL)
#: pointers of one scope that are followed for a first look
_FOLLOWED = 16
_SYNTHETIC = frozenset({"public", "private", "protected"})


@dataclass(frozen=True, slots=True)
class Place:
    """A frame at the current stop."""

    thread: int
    level: int


@dataclass(frozen=True, slots=True)
class VariablesOf:
    place: Place
    kind: ScopeKind


@dataclass(frozen=True, slots=True)
class RegistersOf:
    """One group of a frame's registers."""

    values: tuple[RawValue, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """A value that can be opened: an expression in a frame, or a variable object of gdb's."""

    place: Place
    expression: str
    #: gdb's name for the object, once it was made
    handle: str | None = None


@dataclass(frozen=True, slots=True)
class Grown:
    """A value that the probe has opened already, or the first of its parts."""

    place: Place
    expression: str | None
    children: tuple[Node, ...]
    count: int


What = VariablesOf | RegistersOf | Opened | Grown


class Objects:
    """Everything that has a reference. References live until the program resumes."""

    def __init__(self, line: Line, value_s: float) -> None:
        self._line = line
        self._value_s = value_s
        self._refs: dict[int, What] = {}
        self._made: list[str] = []
        self._last = 0
        #: gdb can run the probe
        self.python = False
        #: the program was made by rustc
        self.rust = False

    def forget(self) -> list[str]:
        """Let every reference die; returns the commands that release what gdb holds for them."""
        made, self._made = self._made, []
        self._refs.clear()
        return [f"-var-delete {handle}" for handle in made]

    def _ref(self, what: What) -> int:
        self._last += 1
        self._refs[self._last] = what
        return self._last

    def _value(
        self, title: str, text: str, type: str | None, place: Place, expression: str | None
    ) -> RawValue:
        ref = 0
        if expression is not None and has_parts(text, type):
            ref = self._ref(Opened(place, expression))
        error = _UNREADABLE.fullmatch(text)
        return RawValue(
            title,
            error[1] if error else self._tidy(text),
            type,
            ref,
            expression=expression,
            opaque=bool(ref) and bool(FOLDED.fullmatch(text)),
            failed=error is not None,
        )

    def _tidy(self, text: str) -> str:
        return tidy(text, rust=self.rust)

    # --- trees

    async def _grown(self, values: list[RawValue], place: Place) -> list[RawValue]:
        """Put what the probe tells of values with parts in their place, asked for at once."""
        parted = [(i, str(v.expression)) for i, v in enumerate(values) if v.ref and v.expression]
        if not parted:
            return values
        answered = await self._line.answer(
            self._ask_trees(
                [expression for _, expression in parted], at(place.thread, place.level)
            ),
            timeout_s=self._value_s * 3,
        )
        for (index, _), node in zip(parted, nodes_of(answered.said), strict=False):
            if node is not None:
                values[index] = self._raw(replace(node, name=values[index].name), place)
        return values

    def _ask_trees(self, expressions: list[str], where: str) -> str:
        spec = json.dumps({"rust": self.rust, "expressions": expressions})
        probe = f"python freezeframe_trees('{spec.encode().hex()}')"
        return f"-interpreter-exec{where} console {quote(probe)}"

    def _raw(self, node: Node, place: Place) -> RawValue:
        ref = 0
        if node.children:
            count = len(node.children) if node.count is None else node.count
            ref = self._ref(Grown(place, node.expression, node.children, count))
        elif node.expression is not None and has_parts(node.text, node.type):
            ref = self._ref(Opened(place, node.expression))
        error = _UNREADABLE.fullmatch(node.text)
        return RawValue(
            node.name,
            error[1] if error else self._tidy(node.text),
            node.type,
            ref,
            node.count,
            node.expression,
            opaque=bool(node.children),
            failed=error is not None,
        )

    async def _branches(
        self, ref: int, what: Grown, start: int, count: int | None
    ) -> list[RawValue]:
        stop = start + (PAGE if count is None else count)
        if min(stop, what.count) > len(what.children) and what.expression is not None:
            opened = Opened(what.place, what.expression)
            self._refs[ref] = opened
            return await self._open(ref, opened, start, count)
        return [self._raw(each, what.place) for each in what.children[start:stop]]

    async def _follow(self, values: list[RawValue], where: str) -> list[RawValue]:
        """Add to pointers what they point to, where it can be read: `0x7ffe10 → {qty = 1}`."""
        pointers = [
            (index, value)
            for index, value in enumerate(values)
            if value.ref and value.expression and ADDRESS.fullmatch(value.text)
        ][:_FOLLOWED]
        answers = await self._line.together(
            [
                f"-data-evaluate-expression{where} {quote(f'*({value.expression})')}"
                for _, value in pointers
            ],
            timeout_s=self._value_s * 3,
        )
        for (index, value), answer in zip(pointers, answers, strict=True):
            if isinstance(answer, Answered):
                behind = str(answer.result.fields.get("value", ""))
                if behind and not FOLDED.fullmatch(behind):
                    text = f"{value.text} -> {self._tidy(behind)}"
                    values[index] = replace(value, text=text)
        return values

    # --- opening

    async def _open(self, ref: int, what: Opened, start: int, count: int | None) -> list[RawValue]:
        handle = what.handle
        if handle is None:
            try:
                made = await self._create(what.expression, what.place)
            except GdbRefused:
                return []
            handle = str(made["name"])
            self._refs[ref] = Opened(what.place, what.expression, handle)
        stop = start + (PAGE if count is None else count)
        return await self._list(handle, what.place, start, stop)

    async def _create(self, expression: str, place: Place | None) -> Fields:
        where = "" if place is None else at(place.thread, place.level)
        made = await self._line.ask(
            f"-var-create{where} - * {quote(expression)}", timeout_s=self._value_s * 3
        )
        self._made.append(str(made["name"]))
        return made

    async def _members(self, handle: str, start: int, stop: int) -> list[Fields]:
        body = await self._line.ask(
            f"-var-list-children --all-values {handle} {start} {stop}",
            timeout_s=self._value_s * 3,
        )
        found = rows(body.get("children"))
        if found and all(not each.get("type") and each.get("exp") in _SYNTHETIC for each in found):
            # A class without a pretty-printer: its members lie behind their access.
            inner = [await self._members(str(each["name"]), 0, stop) for each in found]
            return [member for members in inner for member in members][start:stop]
        return found

    async def _list(self, handle: str, place: Place, start: int, stop: int) -> list[RawValue]:
        found = await self._members(handle, start, stop)
        paths = await self._line.together(
            [f"-var-info-path-expression {each['name']}" for each in found]
        )
        values = []
        for each, path in zip(found, paths, strict=True):
            way = (
                "" if isinstance(path, GdbRefused) else str(path.result.fields.get("path_expr", ""))
            )
            values.append(self._child(each, way or None, place))
        return await self._unfold(values)

    def _child(self, body: Fields, path: str | None, place: Place) -> RawValue:
        title = str(body.get("exp", ""))
        if title.isdecimal():
            title = f"[{title}]"
        text = str(body.get("value", ""))
        ref = 0
        if (
            int(body.get("numchild") or 0)
            or body.get("has_more") == "1"
            or (body.get("dynamic") == "1" and FOLDED.fullmatch(text))
        ):
            ref = self._ref(Opened(place, path or title, str(body["name"])))
        path = None if path is None else plain_path(path)
        return RawValue(
            title,
            self._tidy(text),
            body.get("type") or None,
            ref,
            int(body["numchild"]) if body.get("numchild") and not body.get("dynamic") else None,
            path,
            opaque=bool(ref) and bool(FOLDED.fullmatch(text)),
        )

    async def _unfold(self, values: list[RawValue]) -> list[RawValue]:
        """Replace the place holders of structs by what gdb prints for them, where it has a way."""
        folded = [
            (index, value)
            for index, value in enumerate(values)
            if value.opaque and value.expression is not None
        ]
        answers = await self._line.together(
            [
                f"-data-evaluate-expression{self._where(value.ref)} {quote(value.expression or '')}"
                for _, value in folded
            ],
            timeout_s=self._value_s * 3,
        )
        for (index, value), answer in zip(folded, answers, strict=True):
            if isinstance(answer, Answered):
                text = str(answer.result.fields.get("value", value.text))
                folded_still = bool(FOLDED.fullmatch(text))
                values[index] = replace(value, text=self._tidy(text), opaque=folded_still)
        return values

    def _where(self, ref: int) -> str:
        what = self._refs[ref]
        return "" if isinstance(what, RegistersOf) else at(what.place.thread, what.place.level)
