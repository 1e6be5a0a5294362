"""Scopes, variables and expressions. References live until the program resumes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from freezeframe.backends.backend import RawScope, RawValue
from freezeframe.backends.console.reader import Fields, quote
from freezeframe.errors import EvaluationFailed
from freezeframe.model.values import ScopeKind

from . import machine
from .line import Answered, GdbRefused, Line, at, rows
from .shapes import POINTER, first_address, has_parts, lines_of, opens, plain_path, types_of
from .texts import tidy

#: children fetched at once when nobody says how many
_PAGE = 200
#: what is worth more than its type: a struct's or an array's place holder
_FOLDED = re.compile(r"\{\.\.\.\}|\[\d+\]|\{\}")
#: an expression that may do something: evaluated once and never again
_ACTS = re.compile(r"[\w\])]\s*\(|\+\+|--|(?<![=!<>])=(?!=)")
_ADDRESS = re.compile(r"0x[0-9a-f]+")
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
class _Variables:
    place: Place
    kind: ScopeKind


@dataclass(frozen=True, slots=True)
class _Registers:
    """One group of a frame's registers."""

    values: tuple[RawValue, ...]


@dataclass(frozen=True, slots=True)
class _Object:
    """A value that can be opened: an expression in a frame, or a variable object of gdb's."""

    place: Place
    expression: str
    #: gdb's name for the object, once it was made
    handle: str | None = None


@dataclass(slots=True)
class Returned:
    """What a function returned with, for the look after `finish`."""

    function: str
    text: str
    #: gdb's variable that holds it
    variable: str | None = None


class Values:
    """What can be seen at one stop."""

    def __init__(self, line: Line, value_s: float) -> None:
        self._line = line
        self._value_s = value_s
        self._refs: dict[int, _Variables | _Registers | _Object] = {}
        self._made: list[str] = []
        self._last = 0
        #: gdb can run the probe
        self.python = False
        #: the program was made by rustc
        self.rust = False
        self.returned: Returned | None = None
        #: arguments or locals that were listed with the others and not asked for yet
        self._kept: dict[tuple[Place, bool], list[RawValue]] = {}

    def forget(self) -> list[str]:
        """Let every reference die; returns the commands that release what gdb holds for them."""
        made, self._made = self._made, []
        self._refs.clear()
        self._kept.clear()
        self.returned = None
        return [f"-var-delete {handle}" for handle in made]

    def _ref(self, what: _Variables | _Registers | _Object) -> int:
        self._last += 1
        self._refs[self._last] = what
        return self._last

    # --- scopes

    def scopes(self, place: Place) -> list[RawScope]:
        def scope(title: str, kind: ScopeKind, expensive: bool = False) -> RawScope:
            return RawScope(title, kind, self._ref(_Variables(place, kind)), expensive)

        scopes = [
            scope("Arguments", ScopeKind.ARGUMENTS),
            scope("Locals", ScopeKind.LOCALS),
        ]
        if self.python:
            scopes.append(scope("Globals", ScopeKind.GLOBALS, True))
        return [*scopes, scope("Registers", ScopeKind.REGISTERS, True)]

    async def children(self, ref: int, start: int, count: int | None) -> list[RawValue]:
        what = self._refs.get(ref)
        if what is None:
            return []
        if isinstance(what, _Object):
            return await self._open(ref, what, start, count)
        if isinstance(what, _Registers):
            values = list(what.values)
        elif what.kind is ScopeKind.REGISTERS:
            values = await self._register_groups(what.place)
        elif what.kind is ScopeKind.GLOBALS:
            values = await self._global_values(what.place)
        else:
            values = await self._variables(what.place, what.kind is ScopeKind.ARGUMENTS)
        return values[start : None if count is None else start + count]

    async def _register_groups(self, place: Place) -> list[RawValue]:
        groups = await machine.registers(self._line, at(place.thread, place.level))
        return [
            RawValue(title, "", None, self._ref(_Registers(tuple(values))), len(values))
            for title, values in groups.items()
            if values
        ]

    async def _variables(self, place: Place, arguments: bool) -> list[RawValue]:
        where = at(place.thread, place.level)
        values = await self._listed(place, arguments)
        values = await self._follow(values, where)
        if not arguments and self.returned is not None and place.level == 0:
            values.append(self._returned(self.returned, place))
        return values

    async def _listed(self, place: Place, arguments: bool) -> list[RawValue]:
        """Return arguments or locals. Both are asked for at once, and one waits for its turn."""
        if (kept := self._kept.pop((place, arguments), None)) is not None:
            return kept
        where = at(place.thread, place.level)
        asked = [
            # One listing has the types and no structs, the other the structs and no types.
            f"-stack-list-variables{where} --simple-values",
            f"-stack-list-variables{where} --all-values",
        ]
        if self.python:
            probe = quote("python freezeframe_lines()")
            asked.append(f"-interpreter-exec{where} console {probe}")
        typed, valued, *ordered = await self._line.together(asked, timeout_s=self._value_s * 4)
        types = {} if isinstance(typed, GdbRefused) else types_of(typed)
        if isinstance(valued, GdbRefused):
            if "No symbol table" in valued.message or "no locals" in valued.message.lower():
                return []
            raise valued
        lines = lines_of(ordered[0].said) if ordered and isinstance(ordered[0], Answered) else {}
        seen: set[str] = set()
        found: dict[bool, list[RawValue]] = {True: [], False: []}
        for index, each in enumerate(rows(valued.result.fields.get("variables"))):
            title = str(each.get("name", ""))
            # gdb lists inner blocks first: a name that comes again is shadowed.
            if title in seen:
                continue
            seen.add(title)
            text = str(each.get("value", ""))
            type = types.get((index, title))
            value = self._value(title, text, type, place, title)
            found[bool(int(each.get("arg") or 0))].append(value)
        found[False].sort(key=lambda value: lines.get(value.name, 0))
        self._kept = {(place, not arguments): found[not arguments]}
        return found[arguments]

    def _returned(self, returned: Returned, place: Place) -> RawValue:
        ref = 0
        if returned.variable is not None and has_parts(returned.text, None):
            ref = self._ref(_Object(place, returned.variable))
        return RawValue(
            returned.function,
            self._tidy(returned.text),
            None,
            ref,
            expression=returned.variable,
            returned=True,
        )

    def _value(
        self, title: str, text: str, type: str | None, place: Place, expression: str | None
    ) -> RawValue:
        ref = 0
        if expression is not None and has_parts(text, type):
            ref = self._ref(_Object(place, expression))
        error = _UNREADABLE.fullmatch(text)
        return RawValue(
            title,
            error[1] if error else self._tidy(text),
            type,
            ref,
            expression=expression,
            opaque=bool(ref) and bool(_FOLDED.fullmatch(text)),
            failed=error is not None,
        )

    def _tidy(self, text: str) -> str:
        return tidy(text, rust=self.rust)

    async def _follow(self, values: list[RawValue], where: str) -> list[RawValue]:
        """Add to pointers what they point to, where it can be read: `0x7ffe10 → {qty = 1}`."""
        pointers = [
            (index, value)
            for index, value in enumerate(values)
            if value.ref and value.expression and _ADDRESS.fullmatch(value.text)
        ][:_FOLLOWED]
        answers = await self._line.together(
            [self._behind(str(value.expression), where) for _, value in pointers],
            timeout_s=self._value_s * 3,
        )
        for (index, value), answer in zip(pointers, answers, strict=True):
            if isinstance(answer, Answered):
                behind = (
                    answer.said.strip()
                    if self.python
                    else str(answer.result.fields.get("value", ""))
                )
                if behind and not _FOLDED.fullmatch(behind):
                    text = f"{value.text} → {self._tidy(behind)}"
                    values[index] = replace(value, text=text)
        return values

    def _behind(self, expression: str, where: str) -> str:
        if self.python:
            probe = f"python freezeframe_behind('{expression.encode().hex()}')"
            return f"-interpreter-exec{where} console {quote(probe)}"
        return f"-data-evaluate-expression{where} {quote(f'*({expression})')}"

    # --- opening

    async def _open(self, ref: int, what: _Object, start: int, count: int | None) -> list[RawValue]:
        handle = what.handle
        if handle is None:
            try:
                made = await self._create(what.expression, what.place)
            except GdbRefused:
                return []
            handle = str(made["name"])
            self._refs[ref] = _Object(what.place, what.expression, handle)
        stop = start + (_PAGE if count is None else count)
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
            or (body.get("dynamic") == "1" and _FOLDED.fullmatch(text))
        ):
            ref = self._ref(_Object(place, path or title, str(body["name"])))
        path = None if path is None else plain_path(path)
        return RawValue(
            title,
            self._tidy(text),
            body.get("type") or None,
            ref,
            int(body["numchild"]) if body.get("numchild") and not body.get("dynamic") else None,
            path,
            opaque=bool(ref) and bool(_FOLDED.fullmatch(text)),
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
                folded_still = bool(_FOLDED.fullmatch(text))
                values[index] = replace(value, text=self._tidy(text), opaque=folded_still)
        return values

    def _where(self, ref: int) -> str:
        what = self._refs[ref]
        return "" if isinstance(what, _Registers) else at(what.place.thread, what.place.level)

    # --- expressions

    async def evaluate(self, expression: str, place: Place | None) -> RawValue:
        """Return a value. Raises EvaluationFailed in gdb's words."""
        where = "" if place is None else at(place.thread, place.level)
        limit_s = self._value_s * 3
        try:
            if _ACTS.search(expression):
                return await self._act(expression, place)
            # All three at once: what it holds, what it says, where it lies.
            asked = [
                f"-var-create{where} - * {quote(expression)}",
                f"-data-evaluate-expression{where} {quote(expression)}",
                f"-data-evaluate-expression{where} {quote(f'&({expression})')}",
            ]
            object, whole, lies = await self._line.together(asked, timeout_s=limit_s)
            if isinstance(object, Answered):
                self._made.append(str(object.result.fields["name"]))
            if isinstance(whole, GdbRefused):
                raise whole
            made = object.result.fields if isinstance(object, Answered) else {}
            text = str(whole.result.fields.get("value", ""))
            address = None if isinstance(lies, GdbRefused) else first_address(lies)
        except GdbRefused as error:
            raise EvaluationFailed(error.message) from None
        type = made.get("type") or None
        handle = made.get("name")
        ref = 0
        if handle and place is not None and opens(made):
            ref = self._ref(_Object(place, expression, str(handle)))
        if type and POINTER.search(type):
            address = None  # what it points to is meant, and that is its text
        elif (match := re.match(r"\{[^}]*\} (0x[0-9a-f]+)", text)) is not None:
            address = match[1]  # a function
        value = RawValue(
            expression,
            self._tidy(text),
            type,
            ref,
            None,
            expression,
            address,
            opaque=bool(ref) and bool(_FOLDED.fullmatch(text)),
        )
        return (await self._follow([value], where))[0] if value.ref else value

    async def _act(self, expression: str, place: Place | None) -> RawValue:
        """Run an expression once; what it yields is looked at in gdb's history of values."""
        where = "" if place is None else at(place.thread, place.level)
        said = await self._line.cli(
            f"print -- {expression}", where=where, timeout_s=self._value_s * 3
        )
        kept = re.match(r"(\$\d+) = (.*)", said, re.DOTALL)
        if kept is None or kept[2].strip() == "<void>" or kept[2].strip() == "void":
            return RawValue(expression, said.partition(" = ")[2].strip() or said.strip())
        return replace(await self.evaluate(kept[1], place), name=expression, expression=expression)

    async def assign(self, target: str, value: str, place: Place | None) -> RawValue:
        """Assign, and return the value read back. Raises EvaluationFailed."""
        where = "" if place is None else at(place.thread, place.level)
        try:
            await self._line.ask(
                f"-data-evaluate-expression{where} {quote(f'{target} = {value}')}",
                timeout_s=self._value_s * 3,
            )
        except GdbRefused as error:
            raise EvaluationFailed(error.message) from None
        return await self.evaluate(target, place)

    async def in_hex(
        self, expression: str, place: Place | None
    ) -> tuple[RawValue, list[RawValue]] | None:
        """Return a value and its children as bits in hexadecimal."""
        where = "" if place is None else at(place.thread, place.level)
        try:
            text = (await self._line.cli(f"output/x {expression}", where=where)).strip()
            whole = RawValue(expression, self._tidy(text), expression=expression)
            if _ADDRESS.fullmatch(text) or place is None:
                return whole, []
            made = await self._create(expression, place)
            members = await self._members(str(made["name"]), 0, _PAGE)
        except GdbRefused:
            return None
        shown = await self._line.together(
            [f"-var-set-format {each['name']} hexadecimal" for each in members]
        )
        children = [self._child(each, None, place) for each in members]
        return whole, [
            replace(child, text=str(answer.result.fields.get("value", "")))
            if isinstance(answer, Answered)
            else child
            for child, answer in zip(children, shown, strict=True)
        ]

    # --- globals

    async def _global_values(self, place: Place) -> list[RawValue]:
        """Return the variables outside of functions in the file of the frame.

        All of the program's would be thousands: gdb reads every library's symbols for them.
        """
        where = at(place.thread, place.level)
        said = await self._line.cli("python freezeframe_globals()", where=where)
        listed = [line.split("\t") for line in said.splitlines() if line.count("\t") == 2]
        answers = await self._line.together(
            [f"-data-evaluate-expression{where} {quote(expression)}" for _, _, expression in listed]
        )
        values = []
        for (title, type, expression), answer in zip(listed, answers, strict=True):
            if isinstance(answer, Answered):
                text = str(answer.result.fields.get("value", ""))
                values.append(self._value(title, text, type, place, expression))
        return values
