"""Calls put into bytecode are made exactly where `sys.settrace` reports a line."""

from __future__ import annotations

import collections
import dis
import sys
from types import CodeType, FrameType
from typing import Any

import pytest

from freezeframe.backends.python import bytecode_agent

pytestmark = pytest.mark.skipif(
    sys.version_info[:2] != (3, 11), reason="later versions have sys.monitoring"
)

SHAPES = """
import asyncio
def loops(n):
    total = 0
    for i in range(n): total += i
    while total > 3:
        total -= 2
        if total == 5: continue
    else:
        total += 1
    return [x
            for x in range(3)
            if x], {k: v for k, v in zip("ab", (1, 2))}
def handled(n):
    try:
        try:
            1 / n
        except (ZeroDivisionError,
                ValueError) as error:
            raise KeyError(n) from error
        finally:
            n += 1
    except KeyError:
        pass
    else:
        n += 2
    return n
class Manager:
    def __enter__(self): return self
    def __exit__(self, *error): return True
def managed():
    with Manager() as one, Manager():
        x = 1
        raise ValueError(
            x)
    return (1 if one else
            2)
def generator(n):
    received = yield n
    try:
        yield from range(received)
    finally:
        n = 0
def matched(value):
    match value:
        case [1, *rest]:
            return rest
        case {"a": x} if x:
            return x
        case _:
            return None
async def waits():
    async def each():
        for i in range(3):
            await asyncio.sleep(0)
            yield i
    total = 0
    async for i in each():
        total += i
    async with asyncio.Lock():
        total += 1
    return total + sum([i async for i in each()])
def many():
    CELLS
    return locals
def run():
    loops(4), handled(0), handled(1), managed()
    g = generator(1)
    next(g), g.send(2), list(g)
    matched([1, 2]), matched({"a": 1}), matched(3)
    (lambda q:
        q + 1)(2)
    asyncio.run(waits())
    many()
""".replace(
    # More names than fit into one byte of an instruction, so that jumps need prefixes.
    "CELLS",
    "\n    ".join(f"v{i} = {i}.5 if {i} % 3 else {i}" for i in range(300)),
)


def compiled() -> CodeType:
    return compile(SHAPES, "<shapes>", "exec")


def run(code: CodeType) -> None:
    names: dict[str, Any] = {}
    exec(code, names)
    names["run"]()


def test_hooks_are_called_once_for_each_line_event() -> None:
    lines: collections.Counter[tuple[str, int]] = collections.Counter()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != "<shapes>":
            return None
        if event == "line":
            lines[frame.f_code.co_name, frame.f_lineno] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run(compiled())
    finally:
        sys.settrace(before)
    called: collections.Counter[tuple[str, int]] = collections.Counter()

    def hook(line: int) -> Any:
        def call(frame_globals: Any, frame_locals: Any) -> None:
            frame = sys._getframe(1)
            assert frame.f_globals is frame_globals
            assert frame.f_locals is frame_locals
            called[frame.f_code.co_name, line] += 1

        return call

    code = compiled()
    hooks = {
        line: hook(line)
        for each in bytecode_agent.nested(code)
        for *_, line in each.co_lines()
        if line
    }
    run(bytecode_agent.instrument(code, hooks, {}))

    assert called == lines


def test_all_but_the_calls_stays_as_it_was() -> None:
    code = compiled()
    done: dict[int, Any] = {}

    new = bytecode_agent.instrument(code, dict.fromkeys(range(10, 300), len), done)

    assert new is not code
    kept = ("co_name", "co_qualname", "co_filename", "co_firstlineno", "co_flags", "co_varnames")
    for changed, plain in done.values():
        for name in (*kept, "co_names", "co_freevars", "co_cellvars"):
            assert getattr(changed, name) == getattr(plain, name)
        assert _instructions(plain) <= _instructions(changed)
        assert _lines(changed) == _lines(plain)


def _instructions(code: CodeType) -> collections.Counter[Any]:
    return collections.Counter((each.opname, each.positions) for each in dis.get_instructions(code))


def test_code_without_the_lines_is_returned_as_it_is() -> None:
    code = compiled()
    assert bytecode_agent.instrument(code, {10_000: len}, {}) is code


def _lines(code: CodeType) -> set[int]:
    return {line for *_, line in code.co_lines() if line is not None}
