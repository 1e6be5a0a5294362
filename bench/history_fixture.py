"""Writes two runs of many stops into a history, as the daemon would; prints JSON about it.

Run in the workspace by the interpreter that Freezeframe is installed in:
`history_fixture.py STOPS`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from freezeframe import paths
from freezeframe.history import inserts
from freezeframe.history.inserts import RunRow, StopRow
from freezeframe.history.redaction import Secrets
from freezeframe.history.store import Store
from freezeframe.model.stops import Exit, Frame
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.session.registry import workspace_root


def stop(number: int, root: str, odd: bool) -> StopRow:
    """A stop like those of a loop in a small program: ten variables, five frames."""
    frames = tuple(Frame(n, f"f{n}", f"{root}/app.py", 10 + n) for n in range(5))
    values = [Value(f"name{n}", f"[{n}, {number % 97}, 'three']", "list") for n in range(8)]
    values += [Value("n", str(number), "int")]
    values += [Value("total", str(number * 3 + (odd and number > 9_000)), "int")]
    scope = Scope("Locals", ScopeKind.LOCALS, tuple(values))
    return StopRow(
        number, number / 1000, "breakpoint", 1, "MainThread", frames, 0, 5, (scope,), 0, "continue"
    )


async def main(count: int) -> None:
    root = workspace_root(os.getcwd())
    path = paths.history_path()
    paths.secure(paths.state_dir())
    store = Store(path, print)
    secrets = Secrets(())
    begin = time.perf_counter()
    for odd in (False, True):
        run = RunRow(root, "filled", f"{root}/app.py", (), time.time(), debugger="none")
        for number in range(1, count + 1):
            row = stop(number, root, odd)
            store.put(lambda c, run=run, row=row: inserts.add_stop(c, run, row, secrets))  # type: ignore[misc]
            if number % 5_000 == 0:
                await store.ask(lambda c: None)
        ended = Exit(0)
        store.put(lambda c, run=run, exit=ended: inserts.finish_run(c, run, time.time(), exit))  # type: ignore[misc]
    await store.ask(lambda c: None)
    took_s = time.perf_counter() - begin
    await store.close()
    print(
        json.dumps({"per_stop_s": took_s / count / 2, "bytes": os.stat(path).st_size / count / 2})
    )


asyncio.run(main(int(sys.argv[1])))
