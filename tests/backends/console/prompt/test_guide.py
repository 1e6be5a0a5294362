"""The debugger with a prompt that AGENTS.md describes is a whole one."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from backends.async_tests import on_loop
from backends.console.driving import Driver
from freezeframe.backends.backend import BreakpointRequest, Feature, Launch, StepKind
from freezeframe.backends.debugger import Found
from freezeframe.config import AdapterConfig, Config
from freezeframe.errors import EvaluationFailed
from freezeframe.model.locations import Location
from freezeframe.model.stops import StopReason
from harness.client import REPOSITORY


@on_loop
async def test_the_prompt_of_the_guide_is_driven_as_it_is_written(tmp_path):
    guide = (REPOSITORY / "AGENTS.md").read_text(encoding="utf-8")
    _, code = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "AGENTS.md", "exec"), names)
    moondb, program = tmp_path / "moondb", tmp_path / "x.moon"
    real = Path(__file__).with_name("moondb.py")
    moondb.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{real}" "$@"\n')
    moondb.chmod(0o755)
    program.write_text("n = 1\nn += 1\nprint('moon> stopped', n, given)\nn += 1\n")
    env = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    debugger = names["DEBUGGER"]
    found = debugger.find(env, AdapterConfig())
    assert isinstance(found, Found)
    condition = BreakpointRequest(1, Location(file=str(program), line=3), condition="n == 2")

    async with Driver(made=debugger.make(found, Config())) as moon:
        await moon.start(Launch(str(program), ("{read}",), str(tmp_path), env), condition)

        assert (await moon.stop()).breakpoints == (1,)
        assert await moon.place() == ("main", 3)
        assert await moon.locals() == {"n": "2"}
        assert (await moon.evaluate("n * 21")).text == "42"
        with pytest.raises(EvaluationFailed, match="nothing"):
            await moon.evaluate("nothing")
        assert Feature.FUNCTION_BREAKPOINTS not in moon.backend.features
        await moon.backend.step(StepKind.OVER, 1)
        assert (await moon.stop()).reason is StopReason.STEP
        assert moon.printed() == "moon> stopped 2 ['{read}']\n"
        await moon.backend.set_breakpoints(str(program), ())
        assert (await moon.go()).exit.code == 0  # type: ignore[union-attr]
