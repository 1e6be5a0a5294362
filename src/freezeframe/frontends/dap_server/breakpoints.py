"""The breakpoints of an editor beside those of others in the same workspace.

`setBreakpoints` replaces what this editor has set in a file; breakpoints of an agent stay. Each one
of others is announced; an editor that then lists it has made it its own, and may remove it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from freezeframe.errors import FreezeframeError

from .connection import Body

Call = Callable[[str, Body], Awaitable[dict[str, Any]]]

_BOUND = "bound"
_ACCESS = {"read": {"read": True}, "readWrite": {"access": True}, "write": {}}


class EditorBreakpoints:
    """What one editor has set, by where the protocol lists it."""

    def __init__(self, call: Call, event: Callable[[str, Mapping[str, Any]], None]) -> None:
        self._call = call
        self._event = event
        #: file → ids; None: functions
        self._own: dict[str | None, set[int]] = {}
        self._watched: set[int] = set()
        self._filters: list[str] | None = None
        #: held while breakpoints of the editor change: their own events tell it nothing new
        self._changing = asyncio.Lock()
        #: every breakpoint of the workspace as the editor was told, by id
        self._known: dict[int, Body] = {}

    async def set_lines(self, path: str, requested: list[Mapping[str, Any]]) -> list[Body]:
        """Make *requested* the editor's breakpoints of a file; return how each is bound."""
        return await self._replace(path, [(f"{path}:{each['line']}", each) for each in requested])

    async def set_functions(self, requested: list[Mapping[str, Any]]) -> list[Body]:
        return await self._replace(None, [(str(each["name"]), each) for each in requested])

    async def _replace(
        self, file: str | None, requested: list[tuple[str, Mapping[str, Any]]]
    ) -> list[Body]:
        async with self._changing:
            return await self._replace_alone(file, requested)

    async def _replace_alone(
        self, file: str | None, requested: list[tuple[str, Mapping[str, Any]]]
    ) -> list[Body]:
        own, answers = set[int](), list[Body]()
        for where, each in requested:
            try:
                answer = await self._add(where, each, self._own.get(file, set()))
            except FreezeframeError as error:
                answers.append({"verified": False, "message": str(error.message)})
                continue
            found = answer["breakpoint"]
            own.add(found["id"])
            self._known[found["id"]] = shown = described(found)
            answers.append(shown)
        for id in self._own.get(file, set()) - own:
            self._known.pop(id, None)
            await self._remove("breakpoint_remove", {"which": [str(id)]})
        self._own[file] = own
        return answers

    async def _add(self, location: str, requested: Mapping[str, Any], own: set[int]) -> Body:
        """Add a breakpoint; one of the editor's there gets the new details, also if fewer."""
        args = _add_arguments(location, requested)
        answer = await self._call("breakpoint_add", args)
        found = answer["breakpoint"]
        details = ("condition", "hit_count", "log")
        if found["id"] in own and any(found.get(each) != args.get(each) for each in details):
            await self._remove("breakpoint_remove", {"which": [str(found["id"])]})
            answer = await self._call("breakpoint_add", args)
        return answer

    async def _remove(self, command: str, args: Body) -> None:
        try:
            await self._call(command, args)
        except FreezeframeError:
            pass  # the agent has removed it already

    async def set_watchpoints(self, requested: list[Mapping[str, Any]]) -> list[Body]:
        """Make *requested* the editor's data breakpoints."""
        for id in self._watched:
            await self._remove("watch_remove", {"id": id})
        self._watched.clear()
        answers: list[Body] = []
        for each in requested:
            args: Body = {"expression": each["dataId"], **_ACCESS[each.get("accessType", "write")]}
            if each.get("condition"):
                args["condition"] = each["condition"]
            try:
                listed = (await self._call("watch", args))["watchpoints"]
            except FreezeframeError as error:
                answers.append({"verified": False, "message": error.message})
                continue
            found = next(w for w in reversed(listed) if w["expression"] == each["dataId"])
            self._watched.add(found["id"])
            answers.append({"verified": bool(found.get("verified", True))})
        return answers

    def offer_filters(self, filters: list[Mapping[str, Any]]) -> None:
        """Note which exception filters are on, as the editor is told."""
        self._filters = sorted(each["name"] for each in filters if each.get("on"))

    async def set_filters(self, arguments: Mapping[str, Any]) -> None:
        """Set the exception filters, if they are others than those that the editor was told.

        An editor sends what it was told when it joins, which must not change an agent's choice.
        """
        names = [str(each) for each in arguments.get("filters") or ()]
        options = arguments.get("filterOptions") or ()
        conditions = {each["filterId"]: each.get("condition") or "" for each in options}
        names += [each for each in conditions if each not in names]
        if sorted(names) == self._filters and not any(conditions.values()):
            return
        if self._filters is None and not names:
            return  # before a debugger is known: its own defaults
        await self._call("catch_off", {})
        if names:
            types = {name: conditions.get(name, "").replace(",", " ").split() for name in names}
            given = [word for name in names for word in (name, *types[name])]
            await self._call("catch", {"names": given})
        self._filters = sorted(names)

    async def announce(self) -> None:
        """Tell the editor what others have added, changed and removed."""
        async with self._changing:
            listed = (await self._call("breakpoint_list", {})).get("breakpoints", ())
            now = {each["id"]: described(each) for each in listed}
            before, self._known = self._known, now
        for id, shown in now.items():
            if id not in before:
                self._event("breakpoint", {"reason": "new", "breakpoint": shown})
            elif before[id] != shown:
                self._event("breakpoint", {"reason": "changed", "breakpoint": shown})
        for id, shown in before.items():
            if id not in now:
                for own in self._own.values():
                    own.discard(id)
                self._event("breakpoint", {"reason": "removed", "breakpoint": shown})


def _add_arguments(location: str, requested: Mapping[str, Any]) -> Body:
    """Return the arguments of `break` for a breakpoint of the protocol."""
    args: Body = {"where": location}
    for name, field in (
        ("condition", "condition"),
        ("hit_count", "hitCondition"),
        ("log", "logMessage"),
    ):
        if requested.get(field):
            args[name] = str(requested[field])
    return args


def described(found: Mapping[str, Any]) -> Body:
    """Return a breakpoint of ours as the protocol has it."""
    shown: Body = {"id": found["id"], "verified": found.get("state") == _BOUND}
    path, line = found.get("path"), found.get("line")
    if path is None and found.get("location", "").rpartition(":")[2].isdecimal():
        path, _, text = found["location"].rpartition(":")
        line = int(text)
    if path:
        shown["source"] = {"path": path, "name": path.replace("\\", "/").rpartition("/")[2]}
    if line is not None:
        shown["line"] = line
    if found.get("message"):
        shown["message"] = found["message"]
    return shown
