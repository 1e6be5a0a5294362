"""Breakpoints of one isolate: what is wanted, and the places where V8 has it.

A place holds every breakpoint that was wanted there, since V8 takes one. Breakpoints are set by
URL, so that they are there before a script's first line runs. What only the text of a script can
tell (a source map, a function's name, a line without code) is looked up in the moment between its
being read and its first line; `gates.py` makes that moment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from freezeframe.backends.backend import BoundBreakpoint, WantedBreakpoint
from freezeframe.errors import EvaluationFailed

from . import conditions, grammar, renaming, sourcemaps
from .gates import Gates
from .scripts import (
    OURS,
    Ask,
    Script,
    Scripts,
    offset_of,
    pattern_of,
    place_of,
    real,
    returning,
)
from .shadows import Shadow, shadow_of
from .sourcemaps import SourceMap
from .wire import Refused

#: how a place is named to V8: `pattern` (a path), `url` or `script`; its name, line and column
Key = tuple[str, str, int, int]
_WRAPPER = "(function (exports, require, module, __filename, __dirname) { "
#: complaints about code that is right in the function it is meant for
_ELSEWHERE = ("Private field", "'super'", "new.target", "yield")
#: lines behind the wanted one that are looked at for code
_FAR = 2000


@dataclass(slots=True)
class Place:
    key: Key
    shadow: Shadow | None = None
    #: where the statement begins that V8 has by its end
    shown: tuple[int, int] | None = None
    wanted: dict[int, WantedBreakpoint] = field(default_factory=dict)
    #: V8's name of it
    id: str | None = None
    locations: list[dict[str, Any]] = field(default_factory=list)


class Marks:
    """The breakpoints of one isolate."""

    def __init__(self, ask: Ask, scripts: Scripts, tell: Callable[[BoundBreakpoint], None]) -> None:
        self._ask = ask
        self._scripts = scripts
        self._tell = tell
        #: by real path, with the path as the user has it
        self._lines: dict[str, tuple[str, list[WantedBreakpoint]]] = {}
        self._functions: list[WantedBreakpoint] = []
        self._places: dict[Key, Place] = {}
        self._by_id: dict[str, Place] = {}
        #: why a breakpoint can never be set
        self._wrong: dict[int, str] = {}
        self.gates = Gates(ask)
        self._copies = 0

    # --- what is wanted

    async def set_lines(self, path: str, wanted: Sequence[WantedBreakpoint]) -> None:
        """Make *wanted* the breakpoints of that file."""
        name = real(path)
        before = self._lines.get(name, (path, []))[1]
        self._lines[name] = (path, list(wanted))
        if not wanted:
            del self._lines[name]
        await self._change(before, wanted)
        await self.guard()

    async def set_all(
        self,
        lines: Mapping[str, Sequence[WantedBreakpoint]],
        functions: Sequence[WantedBreakpoint],
    ) -> None:
        """Set everything at once, in a program that may not have begun.

        The gates come last: what is evaluated to check the user's code would stop at them.
        """
        for path, wanted in lines.items():
            self._lines[real(path)] = (path, list(wanted))
            await self._change((), wanted)
        self._functions = list(functions)
        await self._change((), functions)
        await self.guard()

    async def set_functions(self, wanted: Sequence[WantedBreakpoint]) -> None:
        before, self._functions = self._functions, list(wanted)
        await self._change(before, wanted)
        await self.guard()

    async def _change(
        self, before: Sequence[WantedBreakpoint], wanted: Sequence[WantedBreakpoint]
    ) -> None:
        await self._drop({want.id for want in before if want not in wanted})
        for want in wanted:
            if want in before and want.id not in self._wrong:
                continue
            self._wrong.pop(want.id, None)
            wrong = await self._check(want)
            if wrong is not None:
                self._wrong[want.id] = wrong
            elif want.location.file is not None:
                await self._add_line(want)
            else:
                await self._add_function(want)

    async def _check(self, want: WantedBreakpoint) -> str | None:
        """Return why the user's code in a breakpoint is none."""
        try:
            codes = conditions.codes(want)
        except ValueError as error:
            return str(error)
        for code in codes:
            # Inside a function that nobody calls: it is read, and not run.
            answer = await self._ask(
                "Runtime.evaluate", expression=f"(()=>(\n{code}\n));0", silent=True
            )
            details = answer.get("exceptionDetails")
            if details is not None:
                words = (details.get("exception") or {}).get("description") or details.get("text")
                words = str(words).partition("\n")[0]
                # What only has a meaning inside a class is judged where it stands.
                if not any(each in words for each in _ELSEWHERE):
                    return words
        return None

    # --- setting

    async def _add_line(self, want: WantedBreakpoint) -> None:
        assert want.location.file is not None
        path = real(want.location.file)
        made = await self._scripts.mapped_from(path)
        for script in made:
            await self._add_mapped(want, script, path)
        if any(script.path == path for script in made):
            return
        loaded = self._scripts.at_path(path)
        for script in loaded:
            await self._add_exactly(want, script)
        if not loaded:
            await self._put(("pattern", path, _line(want), 0), want)

    async def _add_exactly(self, want: WantedBreakpoint, script: Script) -> None:
        """Set a breakpoint in a script that has been read; a line without code moves down."""
        line = _line(want)
        found = await self._nearest(script.id, line, 0)
        if found is None:
            await self._take(("pattern", str(script.path), line, 0), want)
        elif found[0] == line:
            await self._put(("pattern", str(script.path), line, 0), want)
        else:
            await self._take(("pattern", str(script.path), line, 0), want)
            await self._put(self._key(script, *found), want)

    async def _add_mapped(self, want: WantedBreakpoint, script: Script, path: str) -> None:
        """Set a breakpoint of a source in the script that was made from it."""
        found = self._scripts.map_of(script)
        assert found is not None
        for source, real_path in zip(found.sources, found.real_sources, strict=True):
            if real_path != path:
                continue
            place = found.generated(source, _line(want))
            text = await self._scripts.text_of(script)
            renamed = self._renamed(want, found, text, place) if place is not None else None
            if place is not None and renamed is not None:
                shadow = shadow_of(text, *place[:2])
                exact = await self._nearest(script.id, place[0], place[1])
                if shadow is not None and script.url:
                    await self._put(self._key(script, *shadow.start), renamed, shadow)
                elif exact is not None:
                    shown = returning(text, place[:2], exact)
                    await self._put(self._key(script, *exact), renamed, shown=shown)
            return

    def _renamed(
        self, want: WantedBreakpoint, found: SourceMap, text: str, place: tuple[int, int, int]
    ) -> WantedBreakpoint | None:
        """Return a breakpoint with its code in the names that run; None where it is refused."""
        try:
            return renaming.renamed(want, found, text, place[:2])
        except EvaluationFailed as error:
            self._wrong[want.id] = error.message
            self._tell(self.bound(want))
            return None

    async def _add_function(self, want: WantedBreakpoint) -> None:
        for script in self._scripts:
            if self._is_searched(script, want):
                await self._add_in(want, script)

    def _is_searched(self, script: Script, want: WantedBreakpoint) -> bool:
        if want.location.module:
            return want.location.module in script.url
        return not script.library

    async def _add_in(self, want: WantedBreakpoint, script: Script) -> None:
        """Set a breakpoint at the functions of a script that are called so."""
        text = await self._scripts.text_of(script)
        for offset in bodies(text, want.location.function or ""):
            line, column = place_of(text, offset)
            exact = await self._nearest(script.id, line, column)
            await self._put(self._key(script, *(exact or (line, column))), want)

    async def add_location(self, want: WantedBreakpoint, location: dict[str, Any]) -> None:
        """Set a breakpoint at a place that somebody else has found: a function by its value."""
        script = self._scripts.get(str(location["scriptId"]))
        if script is not None:
            text = await self._scripts.text_of(script)
            offset = offset_of(
                text, int(location["lineNumber"]), int(location.get("columnNumber") or 0)
            )
            inner = next((f for f in grammar.functions(text) if f.start >= offset), None)
            line, column = place_of(text, inner.body if inner is not None else offset)
            exact = await self._nearest(script.id, line, column)
            await self._put(self._key(script, *(exact or (line, column))), want)

    def function(self, id: int) -> WantedBreakpoint | None:
        return next((want for want in self._functions if want.id == id), None)

    def _key(self, script: Script, line: int, column: int) -> Key:
        if script.path is not None:
            return ("pattern", script.path, line, column)
        return ("url", script.url, line, column) if script.url else ("id", script.id, line, column)

    async def _nearest(self, script: str, line: int, column: int) -> tuple[int, int] | None:
        """Return the first place at or behind one where V8 can stop."""
        for end in (line + 1, line + _FAR):
            try:
                answer = await self._ask(
                    "Debugger.getPossibleBreakpoints",
                    start={"scriptId": script, "lineNumber": line, "columnNumber": column},
                    end={"scriptId": script, "lineNumber": end, "columnNumber": 0},
                )
            except Refused:
                return None
            found = answer.get("locations") or []
            if found:
                return int(found[0]["lineNumber"]), int(found[0].get("columnNumber") or 0)
        return None

    async def _put(
        self,
        key: Key,
        want: WantedBreakpoint,
        shadow: Shadow | None = None,
        shown: tuple[int, int] | None = None,
    ) -> None:
        place = self._places.setdefault(key, Place(key, shadow, shown))
        if place.wanted.get(want.id) != want:
            place.wanted[want.id] = want
            await self._apply(place)

    async def _take(self, key: Key, want: WantedBreakpoint) -> None:
        place = self._places.get(key)
        if place is not None and place.wanted.pop(want.id, None) is not None:
            await self._apply(place)

    async def _drop(self, ids: set[int]) -> None:
        for id in ids:
            self._wrong.pop(id, None)
        for place in list(self._places.values()):
            if ids & place.wanted.keys():
                place.wanted = {id: w for id, w in place.wanted.items() if id not in ids}
                await self._apply(place)

    async def _apply(self, place: Place) -> None:
        """Make V8 have a place as it is wanted."""
        if place.id is not None:
            self._by_id.pop(place.id, None)
            await self._ask("Debugger.removeBreakpoint", breakpointId=place.id)
            place.id, place.locations = None, []
        if not place.wanted:
            self._places.pop(place.key, None)
            return
        kind, name, line, column = place.key
        params: dict[str, Any] = {}
        code = conditions.program(list(place.wanted.values()))
        if code is not None and place.shadow is None:
            params["condition"] = code
        if kind == "id":
            location = {"scriptId": name, "lineNumber": line, "columnNumber": column}
            answer = await self._ask("Debugger.setBreakpoint", location=location, **params)
            locations = [answer["actualLocation"]]
        else:
            where = {"urlRegex": pattern_of(name)} if kind == "pattern" else {"url": name}
            if place.shadow is not None:
                # Several may have the same guard, and V8 takes the same place only once.
                pattern = where.get("urlRegex", f"^{re.escape(name)}$")
                where = {"urlRegex": f"{pattern}|^{OURS}{line}-{column}$"}
                line, column = place.shadow.guard
            answer = await self._ask(
                "Debugger.setBreakpointByUrl",
                lineNumber=line,
                columnNumber=column,
                **where,
                **params,
            )
            locations = answer.get("locations") or []
        place.id = str(answer["breakpointId"])
        place.locations += [_wanted_at(place, each) for each in locations]
        self._by_id[place.id] = place

    # --- what became of it

    def bound(self, want: WantedBreakpoint) -> BoundBreakpoint:
        wrong = self._wrong.get(want.id)
        if wrong is not None:
            return BoundBreakpoint(want.id, False, message=wrong, rejected=True)
        places = [place for place in self._places.values() if want.id in place.wanted]
        locations = [location for place in places for location in place.locations]
        if locations:
            spot = self._scripts.spot(locations[0])
            path = spot.path
            if want.location.file is not None and (path is None or real(path) == real_of(want)):
                path = want.location.file
            return BoundBreakpoint(want.id, True, path, spot.line)
        if want.location.file is None:
            message = f"no function {want.location.function} has been loaded yet"
            return BoundBreakpoint(want.id, False, message=message)
        if self._scripts.at_path(real_of(want)) and not places:
            message = f"there is no code at or behind line {want.location.line}"
            return BoundBreakpoint(want.id, False, message=message, rejected=True)
        return BoundBreakpoint(want.id, False, message="that file has not been loaded yet")

    def resolved(self, params: dict[str, Any]) -> None:
        """V8 has found code for a place."""
        place = self._by_id.get(str(params.get("breakpointId")))
        if place is None:
            return
        location = params.get("location") or (params.get("resolvedLocations") or [None])[0]
        if location is not None:
            place.locations.append(_wanted_at(place, location))
            for want in place.wanted.values():
                self._tell(self.bound(want))

    def hit(self, ids: Sequence[str], said: Sequence[int]) -> list[int]:
        """Return our breakpoints behind those of a stop; *said* are those whose code said so."""
        found: list[int] = []
        for id in ids:
            place = self._by_id.get(id)
            if place is None or place.shadow is not None:
                continue
            wanted = list(place.wanted.values())
            told = conditions.says_who(wanted)
            found += [want.id for want in wanted if not told or want.id in said]
        return sorted(set(found), key=lambda id: (id < 0, id))

    def near(self, ids: Sequence[str]) -> list[Place]:
        """Return the places that a stop for these is only the way to."""
        found = [self._by_id[id] for id in ids if id in self._by_id]
        return [place for place in found if place.shadow is not None]

    # --- the moment before a script runs

    async def guard(self) -> None:
        """Stop where scripts begin that may hold what is wanted, and only while it is."""
        await self.gates.guard(sorted(self._lines), self._functions)

    async def about_to_run(self, script: Script) -> None:
        """Set what is wanted in a script that has been read and has not begun."""
        if script.internal:
            return
        known = {want: self.bound(want) for want in self._wanted()}
        await self._add_all(script)
        for want, before in known.items():
            if (now := self.bound(want)) != before:
                self._tell(now)

    def _wanted(self) -> list[WantedBreakpoint]:
        lines = [want for _, wanted in self._lines.values() for want in wanted]
        return [*lines, *self._functions]

    async def _add_all(self, script: Script) -> None:
        if self._lines:
            await self._scripts.read_maps((script,))
        found = self._scripts.map_of(script) if self._lines else None
        sources = set(found.real_sources) if found is not None else set()
        for path, (_, wanted) in list(self._lines.items()):
            for want in self._settable(wanted):
                if path in sources:
                    await self._take(("pattern", path, _line(want), 0), want)
                    await self._add_mapped(want, script, path)
                    # V8 took the line for one of the script, if that has its source's name.
                    self._tell(self.bound(want))
                elif path == script.path:
                    await self._add_exactly(want, script)
        for want in self._settable(self._functions):
            if self._is_searched(script, want):
                await self._add_in(want, script)

    async def about_to_compile(self, filename: str, text: str) -> None:
        """Set what is wanted in a module of CommonJS that has not been read yet.

        A copy of it is compiled, and never run, to see where V8 can stop in it.
        """
        path = real(filename)
        shown = "//" + text[2:] if text.startswith("#!") else text
        self._copies += 1
        name = f"{OURS}copy-{self._copies}"
        await self._ask(
            "Runtime.evaluate",
            expression=f"{_WRAPPER}{shown}\n}});0\n//# sourceURL={name}",
            silent=True,
        )
        copy = next((each.id for each in self._scripts if each.url == name), None)
        if copy is None:
            return  # it will fail in the program's own hands
        url = sourcemaps.url_in(text)
        script = Script(copy, f"file://{path}", url, path=path)
        await self._scripts.read_maps((script,))
        found = self._scripts.map_of(script)
        sources = dict(zip(found.real_sources, found.sources, strict=True)) if found else {}
        for name, (_, wanted) in list(self._lines.items()):
            for want in self._settable(wanted):
                line, column = _line(want), 0
                if name in sources:
                    assert found is not None
                    place = found.generated(sources[name], line)
                    await self._take(("pattern", name, line, 0), want)
                    renamed = self._renamed(want, found, text, place) if place else None
                    if place is None or renamed is None:
                        continue
                    line, column = place[:2]
                    shadow = shadow_of(text, line, column)
                    want = renamed
                    if shadow is not None:
                        await self._put(("pattern", path, line, column), want, shadow)
                        continue
                elif name != path:
                    continue
                exact = await self._in_copy(copy, line, column)
                if name not in sources and (exact is None or exact[0] == line):
                    continue  # it is set by its line
                if name not in sources:
                    await self._take(("pattern", name, line, 0), want)
                at = returning(text, (line, column), exact) if exact and found else None
                key = ("pattern", path, *(exact or (line, column)))
                await self._put(key, want, shown=at)
        for want in self._settable(self._functions):
            if self._is_searched(script, want):
                for offset in bodies(text, want.location.function or ""):
                    line, column = place_of(text, offset)
                    exact = await self._in_copy(copy, line, column)
                    await self._put(("pattern", path, *(exact or (line, column))), want)

    async def _in_copy(self, script: str, line: int, column: int) -> tuple[int, int] | None:
        shift = len(_WRAPPER)
        found = await self._nearest(script, line, column + (shift if line == 0 else 0))
        if found is None or found[0] != 0:
            return found
        return 0, found[1] - shift

    def _settable(self, wanted: Sequence[WantedBreakpoint]) -> list[WantedBreakpoint]:
        return [want for want in wanted if want.id not in self._wrong]


def bodies(text: str, name: str) -> list[int]:
    """Return where the bodies of the functions of that name begin."""
    if grammar.bare(name).removesuffix("()") not in text:
        return []
    return [each.body for each in grammar.functions(text) if grammar.is_called(each, name)]


def _wanted_at(place: Place, location: dict[str, Any]) -> dict[str, Any]:
    """Return the location of a place that V8 has elsewhere."""
    if place.shadow is None and place.shown is None:
        return location
    line, column = place.shadow.start if place.shadow is not None else place.shown or (0, 0)
    return {**location, "lineNumber": line, "columnNumber": column}


def _line(want: WantedBreakpoint) -> int:
    return (want.location.line or 1) - 1


def real_of(want: WantedBreakpoint) -> str:
    return real(want.location.file or "")
