"""Expandable values of one stop, as agent nodes or as gdb's variable objects."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

from freezeframe.backends.backend import RawValue
from freezeframe.backends.console.debuggers.gdb_mi.mi_parser import Fields, quote
from freezeframe.backends.gdb.value_text import tidy
from freezeframe.model.values import ScopeKind

from .mi_channel import Answered, MiChannel, MiError, at, rows
from .value_nodes import Node, has_parts, nodes_of, plain_path

#: children fetched at once by default
PAGE = 200
#: gdb's placeholder for a struct or an array
FOLDED = re.compile(r"\{\.\.\.\}|\[\d+\]|\{\}")
ADDRESS = re.compile(r"0x[0-9a-f]+")
_UNREADABLE = re.compile(r"<error(?: reading variable)?: (.*)>", re.DOTALL)
#: pointers of one scope to dereference for their text
_FOLLOWED = 16
_SYNTHETIC = frozenset({"public", "private", "protected"})


@dataclass(frozen=True, slots=True)
class GdbFrameRef:
    """A frame of the current stop."""

    thread: int
    level: int


@dataclass(frozen=True, slots=True)
class VariablesOf:
    frame: GdbFrameRef
    kind: ScopeKind


@dataclass(frozen=True, slots=True)
class RegistersOf:
    """One group of a frame's registers."""

    values: tuple[RawValue, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """An expandable value: an expression in a frame, or a variable object."""

    frame: GdbFrameRef
    expression: str
    #: gdb's name of the variable object, once created
    handle: str | None = None
    #: gdb lists the keys and the values of a map in turn
    is_map: bool = False


@dataclass(frozen=True, slots=True)
class AgentValue:
    """A value that the agent has expanded, or its first children."""

    frame: GdbFrameRef
    expression: str | None
    children: tuple[Node, ...]
    count: int


Referent = VariablesOf | RegistersOf | Opened | AgentValue


class VarObjects:
    """The table of value references. References are valid until the program resumes."""

    def __init__(self, channel: MiChannel, value_s: float) -> None:
        self._channel = channel
        self._value_s = value_s
        self._refs: dict[int, Referent] = {}
        self._made: list[str] = []
        self._last = 0
        #: gdb can run the agent
        self.python = False
        #: the program was compiled by rustc
        self.rust = False

    def forget(self) -> list[str]:
        """Drop all references; return the commands that delete gdb's variable objects."""
        made, self._made = self._made, []
        self._refs.clear()
        return [f"-var-delete {handle}" for handle in made]

    def _ref(self, what: Referent) -> int:
        self._last += 1
        self._refs[self._last] = what
        return self._last

    def _value(
        self, title: str, text: str, type: str | None, frame: GdbFrameRef, expression: str | None
    ) -> RawValue:
        ref = 0
        if expression is not None and has_parts(text, type):
            ref = self._ref(Opened(frame, expression))
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

    # --- agent nodes

    async def _expand(self, values: list[RawValue], frame: GdbFrameRef) -> list[RawValue]:
        """Replace values that have children by the agent's nodes, in one request."""
        expandable = [
            (i, str(v.expression)) for i, v in enumerate(values) if v.ref and v.expression
        ]
        if not expandable:
            return values
        answered = await self._channel.answer(
            self._trees_command(
                [expression for _, expression in expandable], at(frame.thread, frame.level)
            ),
            timeout_s=self._value_s * 3,
        )
        for (index, _), node in zip(expandable, nodes_of(answered.console_text), strict=False):
            if node is not None:
                values[index] = self._raw(replace(node, name=values[index].name), frame)
        return values

    def _trees_command(self, expressions: list[str], where: str) -> str:
        spec = json.dumps({"rust": self.rust, "expressions": expressions})
        agent = f"python freezeframe_trees('{spec.encode().hex()}')"
        return f"-interpreter-exec{where} console {quote(agent)}"

    def _raw(self, node: Node, frame: GdbFrameRef) -> RawValue:
        ref = 0
        if node.children:
            count = len(node.children) if node.count is None else node.count
            ref = self._ref(AgentValue(frame, node.expression, node.children, count))
        elif node.expression is not None and has_parts(node.text, node.type):
            ref = self._ref(Opened(frame, node.expression))
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

    async def _agent_children(
        self, ref: int, what: AgentValue, start: int, count: int | None
    ) -> list[RawValue]:
        stop = start + (PAGE if count is None else count)
        if min(stop, what.count) > len(what.children) and what.expression is not None:
            opened = Opened(what.frame, what.expression)
            self._refs[ref] = opened
            return await self._open(ref, opened, start, count)
        return [self._raw(each, what.frame) for each in what.children[start:stop]]

    async def _follow(self, values: list[RawValue], where: str) -> list[RawValue]:
        """Append to pointers the value they point to, if readable: `0x7ffe10 → {qty = 1}`."""
        pointers = [
            (index, value)
            for index, value in enumerate(values)
            if value.ref and value.expression and ADDRESS.fullmatch(value.text)
        ][:_FOLLOWED]
        answers = await self._channel.request_all(
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

    # --- variable objects

    async def _open(self, ref: int, what: Opened, start: int, count: int | None) -> list[RawValue]:
        handle = what.handle
        if handle is None:
            try:
                made = await self._create(what.expression, what.frame)
            except MiError:
                return []
            handle = str(made["name"])
            is_map = made.get("displayhint") == "map"
            what = self._refs[ref] = Opened(what.frame, what.expression, handle, is_map)
        stop = start + (PAGE if count is None else count)
        if not what.is_map:
            return await self._list(handle, what.frame, start, stop)
        found = await self._list(handle, what.frame, 2 * start, 2 * stop)
        return [
            replace(value, name=f"[{index}]", text=f"{key.text}: {value.text}", expression=None)
            for index, (key, value) in enumerate(zip(found[::2], found[1::2], strict=False), start)
        ]

    async def _create(self, expression: str, frame: GdbFrameRef | None) -> Fields:
        where = "" if frame is None else at(frame.thread, frame.level)
        made = await self._channel.request(
            f"-var-create{where} - * {quote(expression)}", timeout_s=self._value_s * 3
        )
        self._made.append(str(made["name"]))
        return made

    async def _members(self, handle: str, start: int, stop: int) -> list[Fields]:
        body = await self._channel.request(
            f"-var-list-children --all-values {handle} {start} {stop}",
            timeout_s=self._value_s * 3,
        )
        found = rows(body.get("children"))
        if found and all(not each.get("type") and each.get("exp") in _SYNTHETIC for each in found):
            # A class without a pretty-printer: members are grouped by access specifier.
            inner = [await self._members(str(each["name"]), 0, stop) for each in found]
            return [member for members in inner for member in members][start:stop]
        return found

    async def _list(self, handle: str, frame: GdbFrameRef, start: int, stop: int) -> list[RawValue]:
        found = await self._members(handle, start, stop)
        paths = await self._channel.request_all(
            [f"-var-info-path-expression {each['name']}" for each in found]
        )
        values = []
        for each, path in zip(found, paths, strict=True):
            way = "" if isinstance(path, MiError) else str(path.result.fields.get("path_expr", ""))
            values.append(self._child(each, way or None, frame))
        return await self._unfold(values)

    def _child(self, body: Fields, path: str | None, frame: GdbFrameRef) -> RawValue:
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
            is_map = body.get("displayhint") == "map"
            ref = self._ref(Opened(frame, path or title, str(body["name"]), is_map))
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
        """Replace the placeholders of structs by gdb's text for them, if it has one."""
        folded = [
            (index, value)
            for index, value in enumerate(values)
            if value.opaque and value.expression is not None
        ]
        answers = await self._channel.request_all(
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
        return "" if isinstance(what, RegistersOf) else at(what.frame.thread, what.frame.level)
