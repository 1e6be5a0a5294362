"""Threads, frames, variables and evaluation: the answers of operations as the protocol has them.

Ids of frames and references of variables are valid until the program resumes.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from freezeframe.errors import FreezeframeError, Stale, UsageError
from freezeframe.model.values import child_path

from .connection import Body

#: calls an operation: its id, its arguments, and the thread if it is not the current one
Call = Callable[..., Awaitable[dict[str, Any]]]

#: children of a value that are fetched if the editor does not page
_CHILDREN = 1000
#: frames that are fetched if the editor does not page
_FRAMES = 1000
#: from this number of children on the editor is told to page
_PAGED = 100
_LAZY_SCOPES = (("globals", "Globals"), ("registers", "Registers"))
_HINTS = {"arguments": "arguments", "locals": "locals", "registers": "registers"}
#: a command of ours in the editor's console
_COMMAND = "dbg "


@dataclass(frozen=True)
class FrameId:
    thread: int
    index: int


@dataclass
class Container:
    """What a reference of variables stands for: a scope or a value with children."""

    frame: FrameId
    #: the operation that lists a scope
    command: str | None = None
    #: name of the scope in the operation's answer; None: all its scopes
    scope: str | None = None
    #: of a value: the handle that its children are read by, and an expression for it
    handle: str | None = None
    expression: str | None = None
    #: expressions of the children that were shown, by name
    shown: dict[str, str | None] = field(default_factory=dict)


class Inspector:
    """Answers of one joined session at its current stop."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._frames: list[FrameId] = []
        self._containers: list[Container] = []
        #: source references of the debugger → the frame that has that source
        self._sources: dict[int, FrameId] = {}
        self.current_thread: int | None = None
        self.features: frozenset[str] = frozenset()

    def forget(self) -> None:
        """Drop all ids: the program resumed."""
        self._frames.clear()
        self._containers.clear()
        self._sources.clear()

    async def _at(self, frame: FrameId, command: str, args: Body) -> dict[str, Any]:
        """Call an operation about a frame; the agent's selection stays."""
        other = frame.thread if frame.thread != self.current_thread else None
        return await self._call(command, {**args, "frame": str(frame.index)}, thread=other)

    # --- threads and frames

    async def threads(self) -> list[Body]:
        listed = (await self._call("threads", {})).get("threads", ())
        return [{"id": each["id"], "name": each.get("name") or "?"} for each in listed]

    async def stack(self, arguments: Mapping[str, Any]) -> Body:
        """Return frames of a thread, those from `startFrame` on."""
        thread = int(arguments["threadId"])
        start = int(arguments.get("startFrame") or 0)
        levels = int(arguments.get("levels") or 0) or _FRAMES
        other = thread if thread != self.current_thread else None
        args = {"limit": start + levels, "all": True}
        answer = await self._call("backtrace", args, thread=other)
        stack = answer["stacks"][0]
        frames = [self._frame(thread, each) for each in stack.get("frames", ())[start:]]
        more = stack.get("more", 0)
        found: Body = {"stackFrames": frames}
        if more is not None:
            found["totalFrames"] = start + len(frames) + more
        return found

    def _frame(self, thread: int, found: Mapping[str, Any]) -> Body:
        id = FrameId(thread, found.get("index", 0))
        self._frames.append(id)
        shown: Body = {
            "id": len(self._frames),
            "name": found.get("function") or "?",
            "line": found.get("line") or 0,
            "column": found.get("column") or 0,
        }
        path, reference = found.get("path"), found.get("source_reference") or 0
        if path:
            shown["source"] = {"name": os.path.basename(path), "path": path}
        if reference and not (path and os.path.isfile(path)):
            self._sources[reference] = id
            shown["source"] = {**shown.get("source", {}), "sourceReference": reference}
        if found.get("address"):
            shown["instructionPointerReference"] = found["address"]
        if found.get("library"):
            shown["presentationHint"] = "subtle"
            if "source" in shown:
                shown["source"]["presentationHint"] = "deemphasize"
        return shown

    def frame(self, id: object) -> FrameId:
        """Return the frame of an id; None is the innermost one. Raises Stale."""
        if id is None or id == 0:
            return FrameId(self.current_thread or 0, 0)
        if not isinstance(id, int) or not 0 < id <= len(self._frames):
            raise Stale("the frame is one of an earlier stop.")
        return self._frames[id - 1]

    async def source(self, arguments: Mapping[str, Any]) -> str:
        """Return the text of a source that is not on this machine's disk."""
        reference = arguments.get("sourceReference") or 0
        frame = self._sources.get(reference)
        if frame is None:
            raise Stale("the source is one of an earlier stop.")
        thread = frame.thread if frame.thread != self.current_thread else None
        args = {"context": 1_000_000}
        answer = await self._call("source", args, thread=thread, frame=frame.index)
        return "\n".join(line.get("text", "") for line in answer["source"].get("lines", ())) + "\n"

    # --- variables

    async def scopes(self, frame_id: object) -> list[Body]:
        frame = self.frame(frame_id)
        answer = await self._at(frame, "locals", {"all": True})
        found = []
        for scope in answer.get("scopes", ()):
            kind = str(scope.get("kind", ""))
            shown: Body = {
                "name": scope.get("name") or kind,
                "variablesReference": self._refer(Container(frame, "locals", scope.get("name"))),
                "expensive": False,
            }
            if kind in _HINTS:
                shown["presentationHint"] = _HINTS[kind]
            found.append(shown)
        known = {each["name"].lower() for each in found}
        for command, name in _LAZY_SCOPES:
            if name.lower() in known or (command == "registers" and command not in self.features):
                continue
            reference = self._refer(Container(frame, command))
            found.append({"name": name, "variablesReference": reference, "expensive": True})
        return found

    def _refer(self, container: Container) -> int:
        self._containers.append(container)
        return len(self._containers)

    def container(self, reference: object) -> Container:
        """Return what a reference stands for. Raises Stale."""
        if not isinstance(reference, int) or not 0 < reference <= len(self._containers):
            raise Stale("the variable is one of an earlier stop.")
        return self._containers[reference - 1]

    async def variables(self, arguments: Mapping[str, Any]) -> list[Body]:
        """Return the children of a scope or a value, those from `start` on."""
        container = self.container(arguments.get("variablesReference"))
        start, count = int(arguments.get("start") or 0), int(arguments.get("count") or 0)
        values = await self._children(container, start, count or _CHILDREN)
        found = []
        for value in values:
            shown = self._value(container.frame, value)
            expression = value.get("expression")
            if expression is None and container.expression is not None:
                expression = child_path(container.expression, value["name"])
            container.shown[value["name"]] = expression or value["name"]
            found.append({"name": value["name"], **shown})
        return found

    async def _children(self, container: Container, start: int, count: int) -> list[Body]:
        args: Body = {"range": f"{start}:{start + count}"}
        if container.command is None:
            args["expression"] = container.handle
            children = (await self._at(container.frame, "print", args))["value"].get("children", ())
            return list(children)
        if container.command == "registers":
            answer = await self._call("registers", {})
        else:
            answer = await self._at(container.frame, container.command, {"all": True, **args})
        return [
            value
            for scope in answer.get("scopes", ())
            if container.scope in (None, scope.get("name"))
            for value in scope.get("values", ())
        ]

    def _value(self, frame: FrameId, value: Mapping[str, Any]) -> Body:
        """Return a value as the fields of a variable, without its name."""
        shown: Body = {"value": value.get("text", ""), "variablesReference": 0}
        handle, count = value.get("handle"), value.get("count")
        if handle:
            container = Container(frame, handle=handle, expression=value.get("expression"))
            shown["variablesReference"] = self._refer(container)
            if count is not None and count > _PAGED:
                shown["indexedVariables"] = count
        if value.get("type"):
            shown["type"] = value["type"]
        if value.get("expression"):
            shown["evaluateName"] = value["expression"]
        if value.get("address"):
            shown["memoryReference"] = value["address"]
        return shown

    # --- evaluation

    async def evaluate(self, arguments: Mapping[str, Any]) -> Body:
        """Evaluate an expression; in the console also statements, and commands of ours."""
        text, frame = str(arguments["expression"]), self.frame(arguments.get("frameId"))
        if arguments.get("context") == "repl":
            if text.startswith(_COMMAND):
                answer = await self._call(None, {}, line=text.removeprefix(_COMMAND))
                return {"result": answer.get("text", ""), "variablesReference": 0}
            answer = await self._at(frame, "eval", {"code": text})
        else:
            answer = await self._at(frame, "print", {"expression": text})
        shown = self._value(frame, answer["value"])
        shown["result"] = shown.pop("value")
        shown.pop("evaluateName", None)
        return shown

    async def set_variable(self, arguments: Mapping[str, Any]) -> Body:
        """Assign to a variable of a scope or to a child of a value."""
        container, name = self.container(arguments.get("variablesReference")), arguments["name"]
        target = container.shown.get(name)
        if target is None:
            target = child_path(container.expression, name) if container.expression else str(name)
        return await self._assign(container.frame, target, str(arguments["value"]))

    async def set_expression(self, arguments: Mapping[str, Any]) -> Body:
        frame = self.frame(arguments.get("frameId"))
        return await self._assign(frame, str(arguments["expression"]), str(arguments["value"]))

    async def _assign(self, frame: FrameId, target: str, value: str) -> Body:
        answer = await self._at(frame, "set", {"assignment": [target, "=", value]})
        shown = self._value(frame, answer["value"])
        shown.pop("evaluateName", None)
        shown.pop("memoryReference", None)
        return shown

    async def data_breakpoint(self, arguments: Mapping[str, Any]) -> Body:
        """Return what a data breakpoint on a variable would watch."""
        name, reference = str(arguments["name"]), arguments.get("variablesReference")
        target: str | None = name
        if reference:
            container = self.container(reference)
            target = container.shown.get(name)
            if target is None and container.expression:
                target = child_path(container.expression, name)
        if target is None:
            return {"dataId": None, "description": f"{name} has no expression to watch"}
        return {
            "dataId": target,
            "description": target,
            "accessTypes": ["write", "read", "readWrite"],
            "canPersist": False,
        }

    async def completions(self, arguments: Mapping[str, Any]) -> list[Body]:
        """Return names of variables that complete the end of a text."""
        text, column = str(arguments["text"]), int(arguments.get("column") or 0)
        typed = text[: max(0, column - 1)]
        begin = len(typed)
        while begin and (typed[begin - 1].isalnum() or typed[begin - 1] == "_"):
            begin -= 1
        if begin and typed[begin - 1] == ".":
            return []
        frame, names = self.frame(arguments.get("frameId")), dict[str, str]()
        for command in ("locals", "globals"):
            try:
                answer = await self._at(frame, command, {"all": True})
            except FreezeframeError:
                continue
            for scope in answer.get("scopes", ()):
                names |= {value["name"]: value.get("type") or "" for value in scope["values"]}
        return [
            {"label": name, "start": begin, "length": len(typed) - begin, "type": "variable"}
            for name in names
            if name.startswith(typed[begin:]) and name.isidentifier()
        ]


def runs_code(arguments: Mapping[str, Any]) -> bool:
    """Return whether an evaluation is code that may change the program."""
    text = str(arguments.get("expression", ""))
    return arguments.get("context") == "repl" and not text.startswith(_COMMAND)


def exception_info(stop: Mapping[str, Any] | None) -> Body:
    """Return the exception of a stop. Raises UsageError if there is none."""
    error = (stop or {}).get("exception")
    if error is None:
        raise UsageError("the program is not stopped at an exception.")
    mode = {"uncaught": "unhandled", "userUnhandled": "userUnhandled"}.get(error.get("mode") or "")
    trace = "\n".join(
        f"{line['path']}:{line['line']} in {line['function']}"
        for line in error.get("traceback", ())
    )
    details: Body = {"message": error.get("message", ""), "typeName": error.get("type", "")}
    if trace or error.get("raw_traceback"):
        details["stackTrace"] = trace or error["raw_traceback"]
    return {
        "exceptionId": error.get("type") or "exception",
        "description": error.get("message", ""),
        "breakMode": mode or "always",
        "details": details,
    }
