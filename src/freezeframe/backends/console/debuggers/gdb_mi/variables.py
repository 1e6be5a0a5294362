"""Scopes, variables and expressions. References are valid until the program resumes."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, replace

from freezeframe.backends import gdb
from freezeframe.backends.backend import RawScope, RawValue
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import quote
from freezeframe.errors import EvaluationFailed
from freezeframe.model.values import ScopeKind

from . import memory
from .mi_channel import Answered, MiChannel, MiError, at, rows
from .value_nodes import (
    POINTER,
    Variable,
    first_address,
    has_parts,
    nodes_of,
    opens,
    types_of,
    variables_of,
)
from .var_objects import (
    ADDRESS,
    FOLDED,
    PAGE,
    AgentValue,
    GdbFrameRef,
    Opened,
    RegistersOf,
    VariablesOf,
    VarObjects,
)

#: gdb's text for an empty base class, a truncated string, a box in a variant
_PERHAPS_MORE = re.compile(r'^\{\}$|"\.\.\.$|[({ ]0x[0-9a-f]+[,)}]')
#: gdb's text for the value of an expression that is a reference
_UNFOLLOWED = re.compile(r"@0x[0-9a-f]+")
#: an expression that may have side effects: evaluated once and never again
_SIDE_EFFECTS = re.compile(r"[\w\])]\s*\(|\+\+|--|(?<![=!<>])=(?!=)")

#: expressions with a call or a string, which the agent evaluates; not those that assign
_CALLS, _ASSIGNS = re.compile(r'[\w\])]\s*\(|"'), re.compile(r"\+\+|--|(?<![=!<>])=(?!=)")

#: names and members: the same to gdb and in Rust, whose operators look behind references
_MEMBERS = re.compile(r"[\w$:.]+")

_IN_REGISTERS = "<in registers, where gdb cannot read it>"


@dataclass(slots=True)
class Returned:
    """The return value of a function, shown after `finish`."""

    function: str
    #: as gdb shows it; None if gdb has no value
    text: str | None
    #: gdb's convenience variable that holds the value
    variable: str | None = None


class GdbVariables(VarObjects):
    """Scopes and values of the current stop."""

    def __init__(self, channel: MiChannel, value_s: float) -> None:
        super().__init__(channel, value_s)
        self.returned: Returned | None = None
        #: arguments or locals that were fetched with the others and not requested yet
        self._kept: dict[tuple[GdbFrameRef, bool], list[RawValue]] = {}
        #: variables that are being fetched before a request for them
        self._prefetching: tuple[GdbFrameRef, asyncio.Task[list[Variable] | None]] | None = None
        self._prefetched = False
        #: number of resolved paths: each has a convenience variable in gdb
        self._paths = 0

    def forget(self) -> list[str]:
        self.invalidate()
        self._prefetched = False
        self.returned = None
        return super().forget()

    # --- scopes

    def scopes(self, frame: GdbFrameRef) -> list[RawScope]:
        def scope(title: str, kind: ScopeKind, expensive: bool = False) -> RawScope:
            return RawScope(title, kind, self._ref(VariablesOf(frame, kind)), expensive)

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
        if isinstance(what, AgentValue):
            return await self._agent_children(ref, what, start, count)
        if isinstance(what, RegistersOf):
            values = list(what.values)
        elif what.kind is ScopeKind.REGISTERS:
            values = await self._register_groups(what.frame)
        elif what.kind is ScopeKind.GLOBALS:
            values = await self._global_values(what.frame)
        else:
            values = await self._variables(what.frame, what.kind is ScopeKind.ARGUMENTS)
        return values[start : None if count is None else start + count]

    async def _register_groups(self, frame: GdbFrameRef) -> list[RawValue]:
        groups = await memory.registers(self._channel, at(frame.thread, frame.level))
        return [
            RawValue(title, "", None, self._ref(RegistersOf(tuple(values))), len(values))
            for title, values in groups.items()
            if values
        ]

    async def _variables(self, frame: GdbFrameRef, arguments: bool) -> list[RawValue]:
        values = await self._listed(frame, arguments)
        if not arguments and self.returned is not None and frame.level == 0:
            value = await self._returned(self.returned, frame)
            values += [] if value is None else [value]
        return values

    def prefetch(self, frame: GdbFrameRef) -> None:
        """Fetch the variables of a frame ahead of the request, once per stop."""
        if self._prefetched:
            return
        self._prefetched = True
        task = asyncio.ensure_future(self._from_agent(frame))
        # A request that awaits the task gets its error; mark the error as retrieved otherwise.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._prefetching = frame, task

    def invalidate(self) -> None:
        """Drop prefetched variables: the program's state may have changed."""
        self._prefetching = None
        self._kept.clear()

    async def _listed(self, frame: GdbFrameRef, arguments: bool) -> list[RawValue]:
        """Return arguments or locals. Both are fetched at once, and the other half is kept."""
        if (kept := self._kept.pop((frame, arguments), None)) is not None:
            return kept
        prefetched, self._prefetching = self._prefetching, None
        variables = await (
            prefetched[1]
            if prefetched is not None and prefetched[0] == frame
            else self._from_agent(frame)
        )
        if variables is None:
            found = await self._by_listing(frame)
        else:
            found = {
                kind: [
                    replace(self._raw(each.node, frame), declared=each.line or None)
                    for each in variables
                    if each.argument is kind
                ]
                for kind in (True, False)
            }
        self._kept = {(frame, not arguments): found[not arguments]}
        return found[arguments]

    async def _from_agent(self, frame: GdbFrameRef) -> list[Variable] | None:
        """Return the variables of a frame from the agent, by line; None if the agent fails."""
        if not self.python:
            return None
        spec = json.dumps({"rust": self.rust}).encode().hex()
        try:
            output = await self._channel.cli(
                f"python freezeframe_variables('{spec}')",
                where=at(frame.thread, frame.level),
                timeout_s=self._value_s * 3,
            )
        except MiError:
            return None
        variables = variables_of(output)
        return sorted(variables, key=lambda each: 0 if each.argument else each.line)

    async def _by_listing(self, frame: GdbFrameRef) -> dict[bool, list[RawValue]]:
        """Return arguments and locals from gdb's listing, without the agent."""
        where = at(frame.thread, frame.level)
        # One listing has the types and no structs, the other the structs and no types.
        typed, valued = await self._channel.request_all(
            [
                f"-stack-list-variables{where} --simple-values",
                f"-stack-list-variables{where} --all-values",
            ],
            timeout_s=self._value_s * 4,
        )
        types = {} if isinstance(typed, MiError) else types_of(typed)
        found: dict[bool, list[RawValue]] = {True: [], False: []}
        if isinstance(valued, MiError):
            if "No symbol table" in valued.message or "no locals" in valued.message.lower():
                return found
            raise valued
        seen: set[str] = set()
        for index, each in enumerate(rows(valued.result.fields.get("variables"))):
            title = str(each.get("name", ""))
            # gdb lists inner blocks first: a repeated name is shadowed.
            if title in seen:
                continue
            seen.add(title)
            text = str(each.get("value", ""))
            type = types.get((index, title))
            value = self._value(title, text, type, frame, title)
            found[bool(int(each.get("arg") or 0))].append(value)
        return {kind: await self._follow(values, where) for kind, values in found.items()}

    async def _returned(self, returned: Returned, frame: GdbFrameRef) -> RawValue | None:
        if self.python:
            query = f"python freezeframe_find_returned({returned.variable or ''!r})"
            answer = (await self._channel.cli(query, where=at(frame.thread, 0))).strip()
            if answer == "found":
                value = await self._evaluate("$_freezeframe_returned()", frame)
                return replace(value, name=returned.function, returned=True)
            if answer == "unknown":
                return RawValue(returned.function, _IN_REGISTERS, returned=True)
        if returned.text is None:
            return None
        value = RawValue(returned.function, self._tidy(returned.text), returned=True)
        if returned.variable is None or not has_parts(returned.text, None):
            return replace(value, expression=returned.variable)
        opened = await self.evaluate(returned.variable, frame)
        return replace(opened, name=returned.function, returned=True)

    # --- expressions

    async def evaluate(self, expression: str, frame: GdbFrameRef | None) -> RawValue:
        """Return a value. Raises EvaluationFailed with gdb's message."""
        try:
            return await self._read_expression(expression, frame)
        except EvaluationFailed as error:
            if not self.python or gdb.CALL_STOPPED not in error.message:
                raise
        await self._channel.cli("python freezeframe_unwind()")
        raise EvaluationFailed(gdb.CALL_ABANDONED)

    async def _read_expression(self, expression: str, frame: GdbFrameRef | None) -> RawValue:
        if not self.python or frame is None or expression.startswith("$"):
            return await self._evaluate(expression, frame)
        is_of_rust = self.rust and not _MEMBERS.fullmatch(expression)
        if is_of_rust or (_CALLS.search(expression) and not _ASSIGNS.search(expression)):
            # What the agent reads from memory need not be called in the program.
            return await self._by_agent(expression, frame)
        try:
            return await self._evaluate(expression, frame)
        except EvaluationFailed:
            if _SIDE_EFFECTS.search(expression):
                raise
        return await self._by_agent(expression, frame)

    async def lvalue(self, expression: str, frame: GdbFrameRef | None) -> str:
        """Return an expression of gdb for the memory of a value. Raises EvaluationFailed."""
        if not (self.python and self.rust and "[" in expression) or frame is None:
            return expression
        packed = expression.encode().hex()
        query = f"python freezeframe_print_lvalue('{packed}')"
        try:
            return (await self._channel.cli(query, where=at(frame.thread, frame.level))).strip()
        except MiError as error:
            raise EvaluationFailed(error.message) from None

    async def _by_agent(self, expression: str, frame: GdbFrameRef) -> RawValue:
        """Evaluate an expression with operands that gdb's evaluator may refuse."""
        self.invalidate()
        where = at(frame.thread, frame.level)
        self._paths += 1
        variable = f"freezeframe_{self._paths}"
        packed = expression.encode().hex()
        try:
            output = await self._channel.cli(
                f"python freezeframe_put('{variable}', '{packed}')",
                where=where,
                timeout_s=self._value_s * 3,
            )
        except MiError as error:
            raise EvaluationFailed(error.message) from None
        result = re.search(r"freezeframe (ok|native|no .*)", output, re.DOTALL)
        if result is not None and result[1] == "native":
            return await self._evaluate(expression, frame)
        if result is None or result[1] != "ok":
            why = result[1].removeprefix("no ").strip() if result else output.strip()
            raise EvaluationFailed(why or "gdb could not read it")
        value = await self._evaluate(f"${variable}", frame)
        return replace(value, name=expression)

    async def _evaluate(self, expression: str, frame: GdbFrameRef | None) -> RawValue:
        where = "" if frame is None else at(frame.thread, frame.level)
        limit_s = self._value_s * 3
        try:
            if _SIDE_EFFECTS.search(expression):
                return await self._run_once(expression, frame)
            # All at once: type and children, text, address.
            commands = [
                f"-var-create{where} - * {quote(expression)}",
                f"-data-evaluate-expression{where} {quote(expression)}",
                f"-data-evaluate-expression{where} {quote(f'&({expression})')}",
            ]
            if self.python and frame is not None:
                commands.append(self._trees_command([expression], where))
            object, whole, address_of, *trees = await self._channel.request_all(
                commands, timeout_s=limit_s
            )
            if isinstance(object, Answered):
                self._made.append(str(object.result.fields["name"]))
            if isinstance(whole, MiError):
                raise whole
            made = object.result.fields if isinstance(object, Answered) else {}
            text = str(whole.result.fields.get("value", ""))
            if _UNFOLLOWED.fullmatch(text):
                text = str(made.get("value") or text)
            address = None if isinstance(address_of, MiError) else first_address(address_of)
        except MiError as error:
            raise EvaluationFailed(error.message) from None
        type = made.get("type") or None
        handle = made.get("name")
        ref = 0
        if handle and frame is not None and opens(made):
            is_map = made.get("displayhint") == "map"
            ref = self._ref(Opened(frame, expression, str(handle), is_map))
        if type and POINTER.search(type):
            address = None  # show the target's address, which is the text
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
        # `{}` may be an empty base class of the object.
        if frame is None or (not value.ref and not _PERHAPS_MORE.search(value.text)):
            return value
        if not trees:
            return (await self._follow([value], where))[0]
        [node] = nodes_of(trees[0].console_text) if isinstance(trees[0], Answered) else [None]
        if node is None:
            return value
        return replace(self._raw(node, frame), name=expression, address=address)

    async def _run_once(self, expression: str, frame: GdbFrameRef | None) -> RawValue:
        """Evaluate an expression once; its result is read from gdb's value history."""
        self.invalidate()
        where = "" if frame is None else at(frame.thread, frame.level)
        output = await self._channel.cli(
            f"print -- {expression}", where=where, timeout_s=self._value_s * 3
        )
        kept = re.match(r"(\$\d+) = (.*)", output, re.DOTALL)
        if kept is None or kept[2].strip() == "<void>" or kept[2].strip() == "void":
            return RawValue(expression, output.partition(" = ")[2].strip() or output.strip())
        return replace(await self.evaluate(kept[1], frame), name=expression, expression=expression)

    async def assign(self, target: str, value: str, frame: GdbFrameRef | None) -> RawValue:
        """Assign, and return the value read back. Raises EvaluationFailed."""
        self.invalidate()
        where = "" if frame is None else at(frame.thread, frame.level)
        if self.rust and self.python and frame is not None and not _MEMBERS.fullmatch(target):
            await self._by_agent(f"{target} = {value}", frame)
            return await self.evaluate(target, frame)
        try:
            await self._channel.request(
                f"-data-evaluate-expression{where} {quote(f'{target} = {value}')}",
                timeout_s=self._value_s * 3,
            )
        except MiError as error:
            raise EvaluationFailed(error.message) from None
        return await self.evaluate(target, frame)

    async def in_hex(
        self, expression: str, frame: GdbFrameRef | None
    ) -> tuple[RawValue, list[RawValue]] | None:
        """Return a value and its children as raw bits in hexadecimal."""
        where = "" if frame is None else at(frame.thread, frame.level)
        try:
            text = (await self._channel.cli(f"output/x {expression}", where=where)).strip()
            whole = RawValue(expression, self._tidy(text), expression=expression)
            if ADDRESS.fullmatch(text) or frame is None:
                return whole, []
            made = await self._create(expression, frame)
            members = await self._members(str(made["name"]), 0, PAGE)
        except MiError:
            return None
        shown = await self._channel.request_all(
            [f"-var-set-format {each['name']} hexadecimal" for each in members]
        )
        children = [self._child(each, None, frame) for each in members]
        return whole, [
            replace(child, text=str(answer.result.fields.get("value", "")))
            if isinstance(answer, Answered)
            else child
            for child, answer in zip(children, shown, strict=True)
        ]

    # --- globals

    async def _global_values(self, frame: GdbFrameRef) -> list[RawValue]:
        """Return the global variables in the frame's file.

        Those of the whole program are thousands: gdb would read the symbols of every library.
        """
        where = at(frame.thread, frame.level)
        output = await self._channel.cli("python freezeframe_globals()", where=where)
        listed = [line.split("\t") for line in output.splitlines() if line.count("\t") == 2]
        answers = await self._channel.request_all(
            [f"-data-evaluate-expression{where} {quote(expression)}" for _, _, expression in listed]
        )
        values = []
        for (title, type, expression), answer in zip(listed, answers, strict=True):
            if isinstance(answer, Answered):
                text = str(answer.result.fields.get("value", ""))
                values.append(self._value(title, text, type, frame, expression))
        return await self._expand(values, frame)
