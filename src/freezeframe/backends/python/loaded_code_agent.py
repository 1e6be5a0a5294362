"""Lines of the code that a program has loaded from a file; runs inside the program.

Follows the rules of `object_fields_agent.py`. A file that was edited after it was loaded is not
what runs: a breakpoint belongs to a line of the loaded code. Live functions, started generators and
the frames of every thread refer to that code.
"""

from __future__ import annotations

import gc
import os
import sys
import types
from typing import Any

#: by the type's id: hashing a class of the program would run its code
_HOLDERS: dict[int, str] = {
    id(types.FunctionType): "__code__",
    id(types.GeneratorType): "gi_code",
    id(types.CoroutineType): "cr_code",
    id(types.AsyncGeneratorType): "ag_code",
}


def edited_lines(path: str) -> list[int] | None:
    """Return the lines of the loaded code of a file whose text has changed since, sorted.

    None if the text is the loaded one, or none of it is loaded.
    """
    try:
        if os.stat(path).st_mtime <= _started():
            return None
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return None
    loaded = _loaded(path)
    if not loaded:
        return None
    try:
        there = [_shape(each) for each in _nested([compile(text, path, "exec", 0, True)])]
    except (SyntaxError, ValueError):
        there = []
    if all(any(_same(code, other) for other in there) for code in map(_shape, loaded)):
        return None
    return sorted({line for code in loaded for line in _lines(code)})


def is_edited(path: str) -> bool | None:
    """Return whether a file's text differs from what was loaded; None if unknown."""
    if edited_lines(path) is not None:
        return True
    try:
        if os.stat(path).st_mtime <= _started():
            return False
    except OSError:
        return None
    return False if _loaded(path) else None


def _started() -> float:
    """Return when this process began, in seconds as in `time.time`; 0 for unknown."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        with open("/proc/stat", "rb") as file:
            boot = next(int(line.split()[1]) for line in file if line.startswith(b"btime "))
        # The time of boot is given in whole seconds.
        return boot + ticks / os.sysconf("SC_CLK_TCK") - 1.0
    except Exception:
        return 0.0


def _loaded(path: str) -> list[Any]:
    """Return the code objects of a file that live objects refer to."""
    real_path = os.path.realpath(path)
    known: dict[str, bool] = {}
    found: dict[int, Any] = {}

    def keep(code: Any) -> None:
        name = code.co_filename
        if name not in known:
            known[name] = os.path.realpath(name) == real_path
        if known[name]:
            found[id(code)] = code

    for each in gc.get_objects():
        holder = _HOLDERS.get(id(type(each)))
        if holder is not None:
            keep(getattr(each, holder))
    for frame in list(sys._current_frames().values()):
        step: Any = frame
        while step is not None:
            keep(step.f_code)
            step = step.f_back
    return _nested(list(found.values()))


def _nested(todo: list[Any]) -> list[Any]:
    found = {}
    while todo:
        code = todo.pop()
        if id(code) not in found:
            found[id(code)] = code
            todo += [each for each in code.co_consts if type(each) is types.CodeType]
    return list(found.values())


def _lines(code: Any) -> set[int]:
    if hasattr(code, "co_lines"):
        return {line for _, _, line in code.co_lines() if line}
    import dis

    return {line for _, line in dis.findlinestarts(code) if line}


def _shape(code: Any) -> tuple[Any, ...]:
    constants = {repr(each) for each in code.co_consts if type(each) is not types.CodeType}
    bytecode = None if sys.version_info[:2] == (3, 11) else code.co_code
    return code.co_name, code.co_firstlineno, _lines(code), constants, set(code.co_names), bytecode


def _same(loaded: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    # In 3.11 breakpoints are calls that `bytecode_agent.py` has inserted into the loaded code.
    if sys.version_info[:2] != (3, 11):
        return loaded == other
    return loaded[:3] == other[:3] and loaded[3] >= other[3] and loaded[4] >= other[4]
