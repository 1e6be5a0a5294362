"""Breakpoints of one isolate: the user's requests, and the V8 breakpoints that implement them.

A V8 breakpoint serves all requests at one location, because V8 accepts one there. Breakpoints are
set by URL, so that they exist before a script's first line runs. What only the text of a script
shows (a source map, a function's name, a line without code) is looked up between parsing the script
and running its first line; `script_load_breakpoints.py` stops there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from freezeframe.backends.backend import BoundBreakpoint, BreakpointRequest
from freezeframe.backends.javascript import js_scanner
from freezeframe.backends.javascript.exports import is_export
from freezeframe.errors import EvaluationFailed

from . import breakpoint_conditions, initialization, minified_conditions, sourcemaps
from .channel import InspectorRefused
from .script_load_breakpoints import ScriptLoadBreakpoints
from .scripts import (
    INTERNAL_URL,
    Requester,
    Script,
    Scripts,
    offset_of,
    pattern_of,
    position_of,
    real,
    returning,
)
from .sourcemaps import SourceMap
from .unbindable_positions import UnbindablePosition, unbindable_at

#: how a V8 breakpoint is set: `pattern` (path), `url` or `id` (script); name, line and column
Key = tuple[str, str, int, int]
_WRAPPER = "(function (exports, require, module, __filename, __dirname) { "
#: syntax errors of code that is valid in the function it is meant for
_CONTEXT_ERRORS = ("Private field", "'super'", "new.target", "yield")
#: lines after the requested one that are searched for code
_MAX_LINES = 2000


@dataclass(slots=True)
class V8Breakpoint:
    key: Key
    unbindable: UnbindablePosition | None = None
    #: where the statement begins that V8 has by its end
    shown: tuple[int, int] | None = None
    requests: dict[int, BreakpointRequest] = field(default_factory=dict)
    #: V8's id of the breakpoint
    id: str | None = None
    locations: list[dict[str, Any]] = field(default_factory=list)


class V8Breakpoints:
    """The breakpoints of one isolate."""

    def __init__(
        self, request: Requester, scripts: Scripts, on_changed: Callable[[BoundBreakpoint], None]
    ) -> None:
        self._request = request
        self._scripts = scripts
        self._on_changed = on_changed
        #: by real path, with the path as the user wrote it
        self._lines: dict[str, tuple[str, list[BreakpointRequest]]] = {}
        self._functions: list[BreakpointRequest] = []
        self._breakpoints: dict[Key, V8Breakpoint] = {}
        self._by_id: dict[str, V8Breakpoint] = {}
        #: why a breakpoint can never be set
        self._rejected: dict[int, str] = {}
        self.script_load = ScriptLoadBreakpoints(request, scripts)
        self._copies = 0

    # --- requests

    async def set_lines(self, path: str, requests: Sequence[BreakpointRequest]) -> None:
        """Replace the breakpoints of a file."""
        name = real(path)
        before = self._lines.get(name, (path, []))[1]
        self._lines[name] = (path, list(requests))
        if not requests:
            del self._lines[name]
        await self._change(before, requests)
        await self.guard()

    async def set_all(
        self,
        lines: Mapping[str, Sequence[BreakpointRequest]],
        functions: Sequence[BreakpointRequest],
    ) -> None:
        """Set everything at once, in a program that may not have begun.

        The script-load breakpoints come last: evaluations that check the user's code would stop
        there.
        """
        for path, requests in lines.items():
            self._lines[real(path)] = (path, list(requests))
            await self._change((), requests)
        self._functions = list(functions)
        await self._change((), functions)
        await self.guard()

    async def set_functions(self, requests: Sequence[BreakpointRequest]) -> None:
        before, self._functions = self._functions, list(requests)
        await self._change(before, requests)
        await self.guard()

    async def _change(
        self, before: Sequence[BreakpointRequest], requests: Sequence[BreakpointRequest]
    ) -> None:
        await self._drop({request.id for request in before if request not in requests})
        for request in requests:
            if request in before and request.id not in self._rejected:
                continue
            self._rejected.pop(request.id, None)
            reason = await self._check(request)
            if reason is not None:
                self._rejected[request.id] = reason
            elif request.location.file is not None:
                await self._add_line(request)
            else:
                await self._add_function(request)

    async def _check(self, request: BreakpointRequest) -> str | None:
        """Return why an expression in a breakpoint is invalid; None if all are valid."""
        try:
            codes = breakpoint_conditions.codes(request)
        except ValueError as error:
            return str(error)
        for code in codes:
            # Inside a function that is not called: the code is parsed, and not run.
            answer = await self._request(
                "Runtime.evaluate", expression=f"(()=>(\n{code}\n));0", silent=True
            )
            details = answer.get("exceptionDetails")
            if details is not None:
                message = (details.get("exception") or {}).get("description") or details.get("text")
                message = str(message).partition("\n")[0]
                # Code that is valid only inside a class is checked when it is evaluated.
                if not any(each in message for each in _CONTEXT_ERRORS):
                    return message
        return None

    # --- setting

    async def _add_line(self, request: BreakpointRequest) -> None:
        assert request.location.file is not None
        path = real(request.location.file)
        made = await self._scripts.mapped_from(path)
        for script in made:
            await self._add_mapped(request, script, path)
        if any(script.path == path for script in made):
            return
        loaded = self._scripts.at_path(path)
        for script in loaded:
            await self._add_exactly(request, script)
        if not loaded:
            await self._add(("pattern", path, _line(request), 0), request)

    async def _add_exactly(self, request: BreakpointRequest, script: Script) -> None:
        """Set a breakpoint in a parsed script; one on a line without code moves down."""
        line = _line(request)
        found = await self._nearest(script.id, line, 0)
        if found is None:
            await self._remove(("pattern", str(script.path), line, 0), request)
        elif found[0] == line:
            await self._add(("pattern", str(script.path), line, 0), request)
        else:
            await self._remove(("pattern", str(script.path), line, 0), request)
            await self._add(self._key(script, *found), request)

    async def _add_mapped(self, request: BreakpointRequest, script: Script, path: str) -> None:
        """Set a breakpoint of a source in the script that was generated from it."""
        found = self._scripts.map_of(script)
        assert found is not None
        for source, real_path in zip(found.sources, found.real_sources, strict=True):
            if real_path != path:
                continue
            location = found.generated(source, _line(request))
            text = await self._scripts.text_of(script)
            renamed = self._renamed(request, found, text, location) if location else None
            if location is not None and renamed is not None:
                unbindable = unbindable_at(text, *location[:2])
                exact = await self._nearest(script.id, location[0], location[1])
                if unbindable is not None and script.url:
                    await self._add(self._key(script, *unbindable.start), renamed, unbindable)
                elif exact is not None:
                    shown = returning(text, location[:2], exact)
                    await self._add(self._key(script, *exact), renamed, shown=shown)
            return

    def _renamed(
        self, request: BreakpointRequest, found: SourceMap, text: str, at: tuple[int, int, int]
    ) -> BreakpointRequest | None:
        """Return a breakpoint with the names of the generated code; None where it is rejected."""
        try:
            return minified_conditions.renamed(request, found, text, at[:2])
        except EvaluationFailed as error:
            self._rejected[request.id] = error.message
            self._on_changed(self.bound(request))
            return None

    async def _add_function(self, request: BreakpointRequest) -> None:
        for script in self._scripts:
            if self._is_searched(script, request):
                await self._add_in(request, script)

    def _is_searched(self, script: Script, request: BreakpointRequest) -> bool:
        if request.location.module:
            return request.location.module in script.url
        return not script.library

    async def _add_in(self, request: BreakpointRequest, script: Script) -> None:
        """Set a breakpoint at the functions of that name in a script."""
        text = await self._scripts.text_of(script)
        for offset in bodies(text, request.location.function or ""):
            line, column = position_of(text, offset)
            exact = await self._nearest(script.id, line, column)
            await self._add(self._key(script, *(exact or (line, column))), request)

    async def add_location(self, request: BreakpointRequest, location: dict[str, Any]) -> None:
        """Set a breakpoint at a location that the caller has found: a function by its value."""
        script = self._scripts.get(str(location["scriptId"]))
        if script is not None:
            text = await self._scripts.text_of(script)
            offset = offset_of(
                text, int(location["lineNumber"]), int(location.get("columnNumber") or 0)
            )
            inner = next((f for f in js_scanner.functions(text) if f.start >= offset), None)
            line, column = position_of(text, inner.body if inner is not None else offset)
            exact = await self._nearest(script.id, line, column)
            await self._add(self._key(script, *(exact or (line, column))), request)

    def _key(self, script: Script, line: int, column: int) -> Key:
        if script.path is not None:
            return ("pattern", script.path, line, column)
        return ("url", script.url, line, column) if script.url else ("id", script.id, line, column)

    async def _nearest(self, script: str, line: int, column: int) -> tuple[int, int] | None:
        """Return the first location at or after a position where V8 can stop."""
        for end in (line + 1, line + _MAX_LINES):
            try:
                answer = await self._request(
                    "Debugger.getPossibleBreakpoints",
                    start={"scriptId": script, "lineNumber": line, "columnNumber": column},
                    end={"scriptId": script, "lineNumber": end, "columnNumber": 0},
                )
            except InspectorRefused:
                return None
            found = answer.get("locations") or []
            if found:
                return int(found[0]["lineNumber"]), int(found[0].get("columnNumber") or 0)
        return None

    async def _add(
        self,
        key: Key,
        request: BreakpointRequest,
        unbindable: UnbindablePosition | None = None,
        shown: tuple[int, int] | None = None,
    ) -> None:
        breakpoint = self._breakpoints.setdefault(key, V8Breakpoint(key, unbindable, shown))
        if breakpoint.requests.get(request.id) != request:
            breakpoint.requests[request.id] = request
            await self._apply(breakpoint)

    async def _remove(self, key: Key, request: BreakpointRequest) -> None:
        breakpoint = self._breakpoints.get(key)
        if breakpoint is not None and breakpoint.requests.pop(request.id, None) is not None:
            await self._apply(breakpoint)

    async def _drop(self, ids: set[int]) -> None:
        for id in ids:
            self._rejected.pop(id, None)
        for each in list(self._breakpoints.values()):
            if ids & each.requests.keys():
                each.requests = {id: w for id, w in each.requests.items() if id not in ids}
                await self._apply(each)

    async def _apply(self, breakpoint: V8Breakpoint) -> None:
        """Set, replace or remove a breakpoint in V8, as its requests say."""
        if breakpoint.id is not None:
            self._by_id.pop(breakpoint.id, None)
            await self._request("Debugger.removeBreakpoint", breakpointId=breakpoint.id)
            breakpoint.id, breakpoint.locations = None, []
        if not breakpoint.requests:
            self._breakpoints.pop(breakpoint.key, None)
            return
        kind, name, line, column = breakpoint.key
        params: dict[str, Any] = {}
        requests = list(breakpoint.requests.values())
        if breakpoint_conditions.program(requests) is not None and breakpoint.unbindable is None:
            unset = await initialization.at_breakpoint(self._scripts, breakpoint.key)
            params["condition"] = breakpoint_conditions.program(requests, unset)
        if kind == "id":
            location = {"scriptId": name, "lineNumber": line, "columnNumber": column}
            answer = await self._request("Debugger.setBreakpoint", location=location, **params)
            locations = [answer["actualLocation"]]
        else:
            where = {"urlRegex": pattern_of(name)} if kind == "pattern" else {"url": name}
            if breakpoint.unbindable is not None:
                # Several may have the same guard, and V8 accepts each location only once.
                pattern = where.get("urlRegex", f"^{re.escape(name)}$")
                where = {"urlRegex": f"{pattern}|^{INTERNAL_URL}{line}-{column}$"}
                line, column = breakpoint.unbindable.guard
            answer = await self._request(
                "Debugger.setBreakpointByUrl",
                lineNumber=line,
                columnNumber=column,
                **where,
                **params,
            )
            locations = answer.get("locations") or []
        breakpoint.id = str(answer["breakpointId"])
        breakpoint.locations += [_reported_location(breakpoint, each) for each in locations]
        self._by_id[breakpoint.id] = breakpoint

    # --- results

    def bound(self, request: BreakpointRequest) -> BoundBreakpoint:
        reason = self._rejected.get(request.id)
        if reason is not None:
            return BoundBreakpoint(request.id, False, message=reason, rejected=True)
        found = [each for each in self._breakpoints.values() if request.id in each.requests]
        locations = [location for each in found for location in each.locations]
        if locations:
            position = self._scripts.position(locations[0])
            path = position.path
            if request.location.file is not None and (
                path is None or real(path) == real_of(request)
            ):
                path = request.location.file
            return BoundBreakpoint(request.id, True, path, position.line)
        if request.location.file is None:
            message = f"no function {request.location.function} has been loaded yet"
            return BoundBreakpoint(request.id, False, message=message)
        if self._scripts.at_path(real_of(request)) and not found:
            message = f"there is no code at or behind line {request.location.line}"
            return BoundBreakpoint(request.id, False, message=message, rejected=True)
        return BoundBreakpoint(request.id, False, message="that file has not been loaded yet")

    def resolved(self, params: dict[str, Any]) -> None:
        """Note that V8 has bound a breakpoint in a script."""
        breakpoint = self._by_id.get(str(params.get("breakpointId")))
        if breakpoint is None:
            return
        location = params.get("location") or (params.get("resolvedLocations") or [None])[0]
        if location is not None:
            breakpoint.locations.append(_reported_location(breakpoint, location))
            for request in breakpoint.requests.values():
                self._on_changed(self.bound(request))

    def hit(self, ids: Sequence[str], reported_hits: Sequence[int]) -> list[int]:
        """Return our breakpoints for V8's; *reported_hits* are those whose code reported a hit."""
        found: list[int] = []
        for id in ids:
            breakpoint = self._by_id.get(id)
            if breakpoint is None or breakpoint.unbindable is not None:
                continue
            requests = list(breakpoint.requests.values())
            reports_hits = breakpoint_conditions.reports_hits(requests)
            found += [each.id for each in requests if not reports_hits or each.id in reported_hits]
        return sorted(set(found), key=lambda id: (id < 0, id))

    def needing_steps(self, ids: Sequence[str]) -> list[V8Breakpoint]:
        """Return the breakpoints that must be reached by steps from a stop at these."""
        found = [self._by_id[id] for id in ids if id in self._by_id]
        return [breakpoint for breakpoint in found if breakpoint.unbindable is not None]

    # --- before a script runs

    async def guard(self) -> None:
        """Stop before scripts that may contain requested locations, while there are requests."""
        await self.script_load.guard(sorted(self._lines), self._functions)

    async def about_to_run(self, script: Script) -> None:
        """Set the requested breakpoints in a script that was parsed and has not run."""
        if script.internal:
            return
        known = {request: self.bound(request) for request in self._all_requests()}
        await self._add_all(script)
        for request, before in known.items():
            if (now := self.bound(request)) != before:
                self._on_changed(now)

    def _all_requests(self) -> list[BreakpointRequest]:
        lines = [request for _, requests in self._lines.values() for request in requests]
        return [*lines, *self._functions]

    async def _add_all(self, script: Script) -> None:
        if self._lines:
            await self._scripts.read_maps((script,))
        found = self._scripts.map_of(script) if self._lines else None
        sources = set(found.real_sources) if found is not None else set()
        for path, (_, requests) in list(self._lines.items()):
            for request in self._settable(requests):
                if path in sources:
                    await self._remove(("pattern", path, _line(request), 0), request)
                    await self._add_mapped(request, script, path)
                    # V8 has bound the line in the script, if the script has its source's name.
                    self._on_changed(self.bound(request))
                elif path == script.path:
                    await self._add_exactly(request, script)
        for request in self._settable(self._functions):
            if self._is_searched(script, request):
                await self._add_in(request, script)

    async def about_to_compile(self, filename: str, text: str) -> None:
        """Set the requested breakpoints in a CommonJS module that has not been parsed yet.

        A copy of the module is compiled, and never run, to see where V8 can stop in it.
        """
        path = real(filename)
        shown = "//" + text[2:] if text.startswith("#!") else text
        self._copies += 1
        name = f"{INTERNAL_URL}copy-{self._copies}"
        await self._request(
            "Runtime.evaluate",
            expression=f"{_WRAPPER}{shown}\n}});0\n//# sourceURL={name}",
            silent=True,
        )
        copy = next((each.id for each in self._scripts if each.url == name), None)
        if copy is None:
            return  # the program's own compilation will fail
        url = sourcemaps.url_in(text)
        script = Script(copy, f"file://{path}", url, path=path)
        await self._scripts.read_maps((script,))
        found = self._scripts.map_of(script)
        sources = dict(zip(found.real_sources, found.sources, strict=True)) if found else {}
        self.script_load.note_compiled({path, *sources})
        for name, (_, requests) in list(self._lines.items()):
            for request in self._settable(requests):
                line, column = _line(request), 0
                if name in sources:
                    assert found is not None
                    location = found.generated(sources[name], line)
                    await self._remove(("pattern", name, line, 0), request)
                    renamed = self._renamed(request, found, text, location) if location else None
                    if location is None or renamed is None:
                        continue
                    line, column = location[:2]
                    unbindable = unbindable_at(text, line, column)
                    request = renamed
                    if unbindable is not None:
                        await self._add(("pattern", path, line, column), request, unbindable)
                        continue
                elif name != path:
                    continue
                exact = await self._in_copy(copy, line, column)
                if name not in sources and (exact is None or exact[0] == line):
                    continue  # its line is enough
                if name not in sources:
                    await self._remove(("pattern", name, line, 0), request)
                at = returning(text, (line, column), exact) if exact and found else None
                key = ("pattern", path, *(exact or (line, column)))
                await self._add(key, request, shown=at)
        for request in self._settable(self._functions):
            if self._is_searched(script, request):
                for offset in bodies(text, request.location.function or ""):
                    line, column = position_of(text, offset)
                    exact = await self._in_copy(copy, line, column)
                    await self._add(("pattern", path, *(exact or (line, column))), request)

    async def _in_copy(self, script: str, line: int, column: int) -> tuple[int, int] | None:
        shift = len(_WRAPPER)
        found = await self._nearest(script, line, column + (shift if line == 0 else 0))
        if found is None or found[0] != 0:
            return found
        return 0, found[1] - shift

    def _settable(self, requests: Sequence[BreakpointRequest]) -> list[BreakpointRequest]:
        return [request for request in requests if request.id not in self._rejected]


def bodies(text: str, name: str) -> list[int]:
    """Return the offsets of the bodies of the functions of that name."""
    if js_scanner.bare(name).removesuffix("()") not in text:
        return []
    found = [each for each in js_scanner.functions(text) if js_scanner.is_called(each, name)]
    return [each.body for each in found if not is_export(text, each)]


def _reported_location(entry: V8Breakpoint, location: dict[str, Any]) -> dict[str, Any]:
    """Return the location to report for a breakpoint that V8 has elsewhere."""
    if entry.unbindable is None and entry.shown is None:
        return location
    line, column = entry.unbindable.start if entry.unbindable is not None else entry.shown or (0, 0)
    return {**location, "lineNumber": line, "columnNumber": column}


def _line(request: BreakpointRequest) -> int:
    return (request.location.line or 1) - 1


def real_of(request: BreakpointRequest) -> str:
    return real(request.location.file or "")
