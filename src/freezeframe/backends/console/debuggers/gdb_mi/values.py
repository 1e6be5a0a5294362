"""Scopes, variables and expressions. References live until the program resumes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from freezeframe.backends.backend import RawScope, RawValue
from freezeframe.backends.console.reader import quote
from freezeframe.errors import EvaluationFailed
from freezeframe.model.values import ScopeKind

from . import machine
from .line import Answered, GdbRefused, Line, at, rows
from .objects import ADDRESS, FOLDED, PAGE, Grown, Objects, Opened, Place, RegistersOf, VariablesOf
from .shapes import (
    POINTER,
    first_address,
    has_parts,
    lines_of,
    nodes_of,
    opens,
    optimised_out,
    types_of,
)

#: an expression that may do something: evaluated once and never again
_ACTS = re.compile(r"[\w\])]\s*\(|\+\+|--|(?<![=!<>])=(?!=)")


@dataclass(slots=True)
class Returned:
    """What a function returned with, for the look after `finish`."""

    function: str
    text: str
    #: gdb's variable that holds it
    variable: str | None = None


class Values(Objects):
    """What can be seen at one stop."""

    def __init__(self, line: Line, value_s: float) -> None:
        super().__init__(line, value_s)
        self.returned: Returned | None = None
        #: arguments or locals that were listed with the others and not asked for yet
        self._kept: dict[tuple[Place, bool], list[RawValue]] = {}

    def forget(self) -> list[str]:
        self._kept.clear()
        self.returned = None
        return super().forget()

    # --- scopes

    def scopes(self, place: Place) -> list[RawScope]:
        def scope(title: str, kind: ScopeKind, expensive: bool = False) -> RawScope:
            return RawScope(title, kind, self._ref(VariablesOf(place, kind)), expensive)

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
        if isinstance(what, Opened):
            return await self._open(ref, what, start, count)
        if isinstance(what, Grown):
            return await self._branches(ref, what, start, count)
        if isinstance(what, RegistersOf):
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
            RawValue(title, "", None, self._ref(RegistersOf(tuple(values))), len(values))
            for title, values in groups.items()
            if values
        ]

    async def _variables(self, place: Place, arguments: bool) -> list[RawValue]:
        where = at(place.thread, place.level)
        values = await self._listed(place, arguments)
        values = await (self._grown(values, place) if self.python else self._follow(values, where))
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
        said = ordered[0].said if ordered and isinstance(ordered[0], Answered) else ""
        lines = lines_of(said)
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
        for title, argument in optimised_out(said).items():
            if title not in seen:
                found[argument].append(RawValue(title, "<optimized out>", None, 0))
        found[False].sort(key=lambda value: lines.get(value.name, 0))
        self._kept = {(place, not arguments): found[not arguments]}
        return found[arguments]

    def _returned(self, returned: Returned, place: Place) -> RawValue:
        ref = 0
        if returned.variable is not None and has_parts(returned.text, None):
            ref = self._ref(Opened(place, returned.variable))
        return RawValue(
            returned.function,
            self._tidy(returned.text),
            None,
            ref,
            expression=returned.variable,
            returned=True,
        )

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
            if self.python and place is not None:
                asked.append(self._ask_trees([expression], where))
            object, whole, lies, *grown = await self._line.together(asked, timeout_s=limit_s)
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
            ref = self._ref(Opened(place, expression, str(handle)))
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
            opaque=bool(ref) and bool(FOLDED.fullmatch(text)),
        )
        if not value.ref or place is None:
            return value
        if not grown:
            return (await self._follow([value], where))[0]
        [told] = nodes_of(grown[0].said) if isinstance(grown[0], Answered) else [None]
        if told is None:
            return value
        return replace(self._raw(told, place), name=expression, address=address)

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
            if ADDRESS.fullmatch(text) or place is None:
                return whole, []
            made = await self._create(expression, place)
            members = await self._members(str(made["name"]), 0, PAGE)
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
