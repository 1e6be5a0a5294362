"""The moments between a script's being read and its first line: where V8 stops for us alone.

Modules, and scripts that are run in contexts, can be stopped before they run. For functions that
are compiled as such, which is what modules of CommonJS are, V8 has no such moment: what compiles
them is stopped at instead.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from freezeframe.backends.backend import WantedBreakpoint

from . import grammar
from .scripts import Ask

#: text and file name of what is compiled, in the calls of all who compile
WHAT = "(typeof arguments[1]==='string'?arguments[1]:arguments[2]?.filename)"


class Gates:
    """The gates of one isolate: open unless something is wanted behind them."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        #: the functions that compile, once they are known
        self._compilers: list[str] = []
        #: V8's breakpoints, by what they are for
        self._set: dict[str, str] = {}
        self._code: str | None = None
        #: the program has not begun, and its beginning is of interest
        self._expected = False

    # --- scripts that may hold what is wanted

    def use(self, compilers: Sequence[str]) -> None:
        """Take the functions by which functions are compiled."""
        self._compilers = list(compilers)

    async def guard(self, lines: Sequence[str], functions: Sequence[WantedBreakpoint]) -> None:
        """Stop where scripts begin that may hold what is wanted, and only while it is."""
        wanted = bool(lines or functions)
        if (wanted or self._expected) != ("script" in self._set):
            if "script" in self._set:
                await self._remove("script")
            else:
                answer = await self._ask(
                    "Debugger.setInstrumentationBreakpoint", instrumentation="beforeScriptExecution"
                )
                self._set["script"] = str(answer["breakpointId"])
        code = condition(lines, functions) if wanted and self._compilers else None
        if code == self._code:
            return
        self._code = code
        for name in [name for name in self._set if name.startswith("compile")]:
            await self._remove(name)
        for number, each in enumerate(self._compilers if code is not None else ()):
            answer = await self._ask(
                "Debugger.setBreakpointOnFunctionCall", objectId=each, condition=code
            )
            self._set[f"compile{number}"] = str(answer["breakpointId"])

    def compiles(self, ids: Sequence[str]) -> bool:
        """Whether a stop is at something that compiles."""
        return any(self._set[name] in ids for name in self._set if name.startswith("compile"))

    # --- where a program begins

    async def expect_entry(self, *, first_line: bool) -> None:
        """Stop where the first script of the user's begins; to be guarded afterwards.

        *first_line* is for scripts that cannot be stopped before they run, and that do not stop by
        themselves: it is not exact where they begin with a function.
        """
        self._expected = True
        if first_line:
            answer = await self._ask(
                "Debugger.setBreakpointByUrl", urlRegex="^(file:|/)", lineNumber=0, columnNumber=0
            )
            self._set["entry"] = str(answer["breakpointId"])

    async def expect_start(self, script: str) -> None:
        """Stop at the first statement of a script that has been read."""
        start: dict[str, Any] = {"scriptId": script, "lineNumber": 0, "columnNumber": 0}
        answer = await self._ask(
            "Debugger.getPossibleBreakpoints", start=start, restrictToFunction=True
        )
        first = next(iter(answer.get("locations") or ()), start)
        location = {key: first[key] for key in ("scriptId", "lineNumber", "columnNumber")}
        answer = await self._ask("Debugger.setBreakpoint", location=location)
        self._set["entry"] = str(answer["breakpointId"])

    async def forget_entry(self) -> None:
        self._expected = False
        if "entry" in self._set:
            await self._remove("entry")

    def enters(self, ids: Sequence[str]) -> bool:
        return self._set.get("entry") in ids

    async def _remove(self, name: str) -> None:
        await self._ask("Debugger.removeBreakpoint", breakpointId=self._set.pop(name))


def condition(lines: Sequence[str], functions: Sequence[WantedBreakpoint]) -> str:
    """Return the condition under which the compiling of something is worth a look."""
    names = [grammar.bare(want.location.function or "") for want in functions]
    modules = [want.location.module for want in functions if want.location.module]
    return (
        f"((t,f)=>typeof t==='string'&&typeof f==='string'&&({json.dumps(sorted(lines))}"
        f".includes(f)||((!f.includes('/node_modules/')||{json.dumps(modules)}"
        f".some(m=>f.includes(m)))&&(({'true' if lines else 'false'}&&"
        f"t.includes('sourceMappingURL='))||{json.dumps(names)}.some(n=>t.includes(n))))))"
        f"(arguments[0],{WHAT})"
    )
