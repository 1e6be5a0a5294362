"""Stops before scripts run: every script only as long as a requested file is not loaded.

V8 takes each evaluation of a condition for a script: while all scripts are stopped before, 80,000
false conditions took 2.3 times what they take alone.
"""

from __future__ import annotations

from typing import Any

from backends.async_tests import on_loop
from freezeframe.backends.inspector.script_load_breakpoints import ScriptLoadBreakpoints
from freezeframe.backends.inspector.scripts import Scripts


@on_loop
async def test_only_scripts_with_maps_are_stopped_before_once_every_requested_file_is_loaded():
    active: dict[str, str] = {}

    async def request(method: str, **params: Any) -> dict[str, Any]:
        if method == "Debugger.removeBreakpoint":
            del active[params["breakpointId"]]
            return {}
        active[f"id-{params['instrumentation']}"] = params["instrumentation"]
        return {"breakpointId": f"id-{params['instrumentation']}"}

    scripts = Scripts(request, None)
    stops = ScriptLoadBreakpoints(request, scripts)

    await stops.guard(["/p/a.js", "/p/b.ts"], [])
    assert list(active.values()) == ["beforeScriptExecution"]
    scripts.parsed({"scriptId": "1", "url": "file:///p/a.js"})
    await stops.guard(["/p/a.js", "/p/b.ts"], [])
    assert list(active.values()) == ["beforeScriptExecution"]
    stops.note_compiled({"/p/b.js", "/p/b.ts"})
    await stops.guard(["/p/a.js", "/p/b.ts"], [])
    assert list(active.values()) == ["beforeScriptWithSourceMapExecution"]
    await stops.guard(["/p/a.js", "/p/new.js"], [])
    assert list(active.values()) == ["beforeScriptExecution"]
    await stops.guard([], [])
    assert not active
