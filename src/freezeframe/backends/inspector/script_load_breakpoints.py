"""Stop between the parsing of a script and its first line, to set breakpoints in it.

Modules, and scripts that are run in contexts, can be stopped before they run. For functions that
are compiled as such, which CommonJS modules are, V8 cannot do that: the functions that compile them
are stopped at instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any

from freezeframe.backends.backend import BreakpointRequest
from freezeframe.backends.javascript import js_scanner

from .scripts import Requester, Scripts, is_library, offset_of, path_of, pattern_of, real

#: the file name of what is compiled, in the arguments of all compiling functions
FILE_NAME = "(typeof arguments[1]==='string'?arguments[1]:arguments[2]?.filename)"
#: statements that are looked at, and the length of a text in which more than one is
_SCANNED, _LONGEST = 50, 300_000
#: the URLs of files, but for our own that run in the program
_USER_FILES = r"^(file:|/)(?!.*/freezeframe/backends/inspector/\w+_agent\.cjs$)"


class ScriptLoadBreakpoints:
    """The internal breakpoints of one isolate: set only while there are requests that need them."""

    def __init__(self, request: Requester, scripts: Scripts) -> None:
        self._request = request
        self._scripts = scripts
        #: the functions that compile, once they are known
        self._compilers: list[str] = []
        #: V8's breakpoints, by their purpose
        self._set: dict[str, str] = {}
        #: V8's breakpoints where the program begins
        self._entries: list[str] = []
        self._code: str | None = None
        #: before which scripts V8 stops
        self._instrumentation: str | None = None
        #: paths of modules that were stopped at before they were compiled
        self._compiled: set[str] = set()
        #: whether the program has not begun, and its start must be reported
        self._expected = False

    # --- scripts that may contain requested locations

    def use(self, compilers: Sequence[str]) -> None:
        """Set the functions that compile functions."""
        self._compilers = list(compilers)

    async def guard(self, lines: Sequence[str], functions: Sequence[BreakpointRequest]) -> None:
        """Stop before scripts that may contain requested locations, as long as there are
        requests.

        Each condition that V8 evaluates is a script to it: as long as every script is stopped
        before, a condition costs more the more often it was evaluated.
        """
        has_requests = bool(lines or functions)
        requested = None
        loaded = self._scripts.loaded_paths() | self._compiled
        if self._expected or functions or not loaded.issuperset(lines):
            requested = "beforeScriptExecution"
        elif has_requests:
            requested = "beforeScriptWithSourceMapExecution"
        if requested != self._instrumentation:
            self._instrumentation = requested
            if "script" in self._set:
                await self._remove("script")
            if requested is not None:
                answer = await self._request(
                    "Debugger.setInstrumentationBreakpoint", instrumentation=requested
                )
                self._set["script"] = str(answer["breakpointId"])
        code = condition(lines, functions) if has_requests and self._compilers else None
        if code == self._code:
            return
        self._code = code
        for name in [name for name in self._set if name.startswith("compile")]:
            await self._remove(name)
        for number, each in enumerate(self._compilers if code is not None else ()):
            answer = await self._request(
                "Debugger.setBreakpointOnFunctionCall", objectId=each, condition=code
            )
            self._set[f"compile{number}"] = str(answer["breakpointId"])

    def note_compiled(self, paths: Set[str]) -> None:
        """Note the file and the sources of a module that is about to be compiled."""
        self._compiled |= paths

    def compiles(self, ids: Sequence[str]) -> bool:
        """Return whether a stop is in a compiling function."""
        return any(self._set[name] in ids for name in self._set if name.startswith("compile"))

    # --- the start of a program

    async def expect_program(
        self, location: Mapping[str, Any], url: str, program: str | None, *, before_script: bool
    ) -> bool:
        """Return whether the program's first statement is still to come; it is stopped at then."""
        if program is not None and not is_library(program) and is_library(path_of(url)):
            await self.expect_file(program)  # a loader of the user's, which runs the program
            return True
        id = str(location["scriptId"])
        if before_script:
            await self.expect_start(id)
            return True
        script = self._scripts.get(id)
        made = self._scripts.map_of(script) if script is not None else None
        first = made.first() if made is not None else None
        here = int(location["lineNumber"]), int(location.get("columnNumber") or 0)
        if script is None or first is None or first <= here:
            return False
        await self.expect_wrapped(id, await self._scripts.text_of(script), first)
        return True

    async def expect_entry(self, *, first_line: bool) -> None:
        """Stop where the user's first script begins; call `guard` afterwards.

        *first_line* is for scripts that cannot be stopped before they run, and that do not stop by
        themselves: it is not exact where they begin with a function.
        """
        self._expected = True
        if first_line:
            answer = await self._request(
                "Debugger.setBreakpointByUrl", urlRegex=_USER_FILES, lineNumber=0, columnNumber=0
            )
            self._entries.append(str(answer["breakpointId"]))

    async def expect_start(self, script: str) -> None:
        """Stop at the first statement of a parsed script."""
        start: dict[str, Any] = {"scriptId": script, "lineNumber": 0, "columnNumber": 0}
        answer = await self._request(
            "Debugger.getPossibleBreakpoints", start=start, restrictToFunction=True
        )
        await self._expect(next(iter(answer.get("locations") or ()), start))

    async def expect_wrapped(self, script: str, text: str, begin: tuple[int, int]) -> None:
        """Stop at the first statement of code that a loader has wrapped in a function of its own.

        The code is at *begin* in the script's text; functions in it are not run first.
        """
        start = {"scriptId": script, "lineNumber": begin[0], "columnNumber": begin[1]}
        answer = await self._request("Debugger.getPossibleBreakpoints", start=start)
        locations = (answer.get("locations") or [])[: _SCANNED if len(text) < _LONGEST else 1]
        for each in locations:
            at = offset_of(text, int(each["lineNumber"]), int(each.get("columnNumber") or 0))
            function = js_scanner.innermost(text, at)
            if function is None or function.start < offset_of(text, *begin):
                await self._expect(each)
                return
        await self._expect(next(iter(locations), start))

    async def _expect(self, found: dict[str, Any]) -> None:
        location = {
            key: found[key] for key in ("scriptId", "lineNumber", "columnNumber") if key in found
        }
        answer = await self._request("Debugger.setBreakpoint", location=location)
        self._entries.append(str(answer["breakpointId"]))

    async def expect_file(self, path: str) -> None:
        """Stop at the first statement of a file that is not loaded yet."""
        pattern = "|".join(sorted({pattern_of(path), pattern_of(real(path))}))
        answer = await self._request(
            "Debugger.setBreakpointByUrl", urlRegex=pattern, lineNumber=0, columnNumber=0
        )
        self._entries.append(str(answer["breakpointId"]))

    async def forget_entry(self, *, keep_last: bool) -> None:
        """Remove the breakpoints where the program begins; *keep_last*: all but the newest.

        V8 does not stop at a statement it is about to run if all breakpoints of the script were
        removed before another one was set: so the next one is set first.
        """
        self._expected = False
        kept = self._entries[-1:] if keep_last else []
        for each in self._entries[: len(self._entries) - len(kept)]:
            await self._request("Debugger.removeBreakpoint", breakpointId=each)
        self._entries = kept

    def enters(self, ids: Sequence[str]) -> bool:
        return any(each in ids for each in self._entries)

    async def _remove(self, name: str) -> None:
        await self._request("Debugger.removeBreakpoint", breakpointId=self._set.pop(name))


def condition(lines: Sequence[str], functions: Sequence[BreakpointRequest]) -> str:
    """Return the condition under which a compilation may contain requested locations."""
    names = [js_scanner.bare(request.location.function or "") for request in functions]
    modules = [request.location.module for request in functions if request.location.module]
    return (
        f"((t,f)=>typeof t==='string'&&typeof f==='string'&&({json.dumps(sorted(lines))}"
        f".includes(f)||((!f.includes('/node_modules/')||{json.dumps(modules)}"
        f".some(m=>f.includes(m)))&&(({'true' if lines else 'false'}&&"
        f"t.includes('sourceMappingURL='))||{json.dumps(names)}.some(n=>t.includes(n))))))"
        f"(arguments[0],{FILE_NAME})"
    )
