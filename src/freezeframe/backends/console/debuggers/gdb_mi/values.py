"""Scopes, variables and expressions. References live until the program resumes."""

from __future__ import annotations

import asyncio
import json
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
    Variable,
    first_address,
    has_parts,
    nodes_of,
    opens,
    types_of,
    variables_of,
)

#: what gdb shows of a base class without members, of a text that it cuts, of a box in a variant
_PERHAPS_MORE = re.compile(r'^\{\}$|"\.\.\.$|[({ ]0x[0-9a-f]+[,)}]')
#: all that gdb says of a reference when it is asked for the value of an expression
_UNFOLLOWED = re.compile(r"@0x[0-9a-f]+")
#: an expression that may do something: evaluated once and never again
_ACTS = re.compile(r"[\w\])]\s*\(|\+\+|--|(?<![=!<>])=(?!=)")

#: gdb's words for functions of C++ that are inlined or were never compiled, so cannot be called, or
#: that take a class where a text is given
_NOT_CALLED = re.compile(
    r"operator[^\w\s]|may be inlined|find method|resolve method|Invalid cast|"
    r'no member or method named|No symbol "(?:std::)?get\b|Too few arguments|'
    r"Error while (?:executing Python|looking for matching xmethod)"
)

#: what the probes say of an expression that they cannot even read
_NO_PATH = "it is no path of names"


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
        #: variables that are under way before anyone has asked for them
        self._coming: tuple[Place, asyncio.Task[list[Variable] | None]] | None = None
        self._foreseen = False
        #: paths of Rust that were resolved: each has a variable in gdb
        self._paths = 0

    def forget(self) -> list[str]:
        self.stale()
        self._foreseen = False
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
        values = await self._listed(place, arguments)
        if not arguments and self.returned is not None and place.level == 0:
            values.append(await self._returned(self.returned, place))
        return values

    def foresee(self, place: Place) -> None:
        """Ask for the variables of a frame that will be looked at, once at a stop."""
        if self._foreseen:
            return
        self._foreseen = True
        task = asyncio.ensure_future(self._told(place))
        # Whoever waits for it is told; nobody else need be.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._coming = place, task

    def stale(self) -> None:
        """Something may have been changed since the variables were asked for."""
        self._coming = None
        self._kept.clear()

    async def _listed(self, place: Place, arguments: bool) -> list[RawValue]:
        """Return arguments or locals. Both are asked for at once, and one waits for its turn."""
        if (kept := self._kept.pop((place, arguments), None)) is not None:
            return kept
        coming, self._coming = self._coming, None
        told = await (coming[1] if coming is not None and coming[0] == place else self._told(place))
        if told is None:
            found = await self._by_listing(place)
        else:
            found = {
                kind: [
                    replace(self._raw(each.node, place), declared=each.line or None)
                    for each in told
                    if each.argument is kind
                ]
                for kind in (True, False)
            }
        self._kept = {(place, not arguments): found[not arguments]}
        return found[arguments]

    async def _told(self, place: Place) -> list[Variable] | None:
        """Return the variables of a frame as the probe tells them, by line; None where it fails."""
        if not self.python:
            return None
        spec = json.dumps({"rust": self.rust}).encode().hex()
        try:
            said = await self._line.cli(
                f"python freezeframe_variables('{spec}')",
                where=at(place.thread, place.level),
                timeout_s=self._value_s * 3,
            )
        except GdbRefused:
            return None
        told = variables_of(said)
        return sorted(told, key=lambda each: 0 if each.argument else each.line)

    async def _by_listing(self, place: Place) -> dict[bool, list[RawValue]]:
        """Return arguments and locals as gdb lists them, without the probe."""
        where = at(place.thread, place.level)
        # One listing has the types and no structs, the other the structs and no types.
        typed, valued = await self._line.together(
            [
                f"-stack-list-variables{where} --simple-values",
                f"-stack-list-variables{where} --all-values",
            ],
            timeout_s=self._value_s * 4,
        )
        types = {} if isinstance(typed, GdbRefused) else types_of(typed)
        found: dict[bool, list[RawValue]] = {True: [], False: []}
        if isinstance(valued, GdbRefused):
            if "No symbol table" in valued.message or "no locals" in valued.message.lower():
                return found
            raise valued
        seen: set[str] = set()
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
        return {kind: await self._follow(values, where) for kind, values in found.items()}

    async def _returned(self, returned: Returned, place: Place) -> RawValue:
        value = RawValue(returned.function, self._tidy(returned.text), returned=True)
        if returned.variable is None or not has_parts(returned.text, None):
            return replace(value, expression=returned.variable)
        opened = await self.evaluate(returned.variable, place)
        return replace(opened, name=returned.function, returned=True)

    # --- expressions

    async def evaluate(self, expression: str, place: Place | None) -> RawValue:
        """Return a value. Raises EvaluationFailed in gdb's words."""
        try:
            return await self._evaluate(expression, place)
        except EvaluationFailed as error:
            knows = self.rust or _NOT_CALLED.search(error.message)
            if not knows or not self.python or expression.startswith("$"):
                raise
            refused = error
        try:
            return await self._as_path(expression, place)
        except EvaluationFailed as error:
            # What is no path at all, gdb's own words are about.
            raise (refused if _NO_PATH in error.message and not self.rust else error) from None

    async def _as_path(self, expression: str, place: Place | None) -> RawValue:
        """Return what a path of members, indexes and calls means that gdb's evaluator refuses."""
        where = "" if place is None else at(place.thread, place.level)
        self._paths += 1
        variable = f"freezeframe_{self._paths}"
        packed = expression.encode().hex()
        way = "freezeframe_path" if self.rust else "freezeframe_cpp"
        try:
            said = await self._line.cli(
                f"python {way}('{packed}', '{variable}')",
                where=where,
                timeout_s=self._value_s * 3,
            )
        except GdbRefused as error:
            raise EvaluationFailed(error.message) from None
        told = re.search(r"freezeframe (ok|no .*)", said, re.DOTALL)
        if told is None or told[1] != "ok":
            why = told[1].removeprefix("no ").strip() if told else said.strip()
            raise EvaluationFailed(why or "gdb could not read it")
        value = await self._evaluate(f"${variable}", place)
        return replace(value, name=expression)

    async def _evaluate(self, expression: str, place: Place | None) -> RawValue:
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
            if _UNFOLLOWED.fullmatch(text):
                text = str(made.get("value") or text)
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
        # `{}` may be a base class of what is there.
        if place is None or (not value.ref and not _PERHAPS_MORE.search(value.text)):
            return value
        if not grown:
            return (await self._follow([value], where))[0]
        [told] = nodes_of(grown[0].said) if isinstance(grown[0], Answered) else [None]
        if told is None:
            return value
        return replace(self._raw(told, place), name=expression, address=address)

    async def _act(self, expression: str, place: Place | None) -> RawValue:
        """Run an expression once; what it yields is looked at in gdb's history of values."""
        self.stale()
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
        self.stale()
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
        return await self._grown(values, place)
