"""C through LLDB's prompt."""

from __future__ import annotations

import os

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.backend import StepKind
from freezeframe.backends.console.debuggers import known
from freezeframe.backends.debugger import Found
from freezeframe.config import AdapterConfig, Config
from freezeframe.model.stops import StopReason

from .driving import Driver, build

_TEXT = """#include <stdio.h>
int add(int a, int b) {
    int c = a + b; // @add
    return c;
}
int main(void) {
    int total = 0;
    for (int i = 1; i < 4; i++) total = add(total, i);
    printf("@ff total %d\\n(lldb) ", total);
    return 3;
}
"""


def _driver() -> Driver:
    debugger = known()["lldb-cli"]
    found = debugger.find(os.environ, AdapterConfig())
    if not isinstance(found, Found):
        pytest.skip(f"{found.reason}; {debugger.install[0]}")
    return Driver(None, debugger.make(found, Config()))


@on_loop
async def test_a_program_stops_steps_out_with_a_value_and_ends_with_its_code(tmp_path):
    program = build(tmp_path, "adding.c", _TEXT)
    async with _driver() as lldb:
        await lldb.start(program.launch(), program.at("add", condition="b == 2"))

        stop = await lldb.stop()
        assert (stop.reason, stop.breakpoints) == (StopReason.BREAKPOINT, (1,))
        assert await lldb.place() == ("add", program.line("add"))
        assert (await lldb.evaluate("a * 10 + b")).text == "12"
        assert stop.thread is not None
        await lldb.backend.step(StepKind.OUT, stop.thread)
        await lldb.stop()
        assert [v.text for v in await lldb.all_locals() if v.returned] == ["3"]
        assert (await lldb.go()).exit.code == 3  # type: ignore[union-attr]
        assert lldb.printed() == "@ff total 6\n(lldb) "
