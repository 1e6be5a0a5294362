"""Lines with a breakpoint call a hook; runs inside the debuggee.

Sent there together with `agent.py`, under the same rules, and used in CPython 3.11 only. It becomes
the module `_freezeframe_line_hooks`. Code gets its hooks (see `bytecode_agent.py`) after it is
loaded and before it runs; functions that exist already get them when a breakpoint is set.
`tracing_agent.py` decides what a hook does when it is reached.
"""

from __future__ import annotations

import dis
import functools
import gc
import operator
import sys
import threading
import types
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_instrument: Any = sys.modules.get("_freezeframe_instrument")
_loading: Any = sys.modules.get("_freezeframe_loading")
lock = threading.RLock()
#: idents of threads that are traced
armed: set[int] = set()
#: file → line → hook; hooks stay when a breakpoint is deleted, for frames may still have them
by_file: dict[str, dict[int, Hook]] = {}
#: id of instrumented code → the code, the original, the lines that were hooked
codes: dict[int, tuple[Any, Any, frozenset[int]]] = {}
#: generators that were begun before a breakpoint was set in them
begun: list[Any] = []
#: `tracing_agent.py`'s functions for a hook; whether this agent is changing code itself, and
#: whether nothing of the program has been loaded
state: dict[str, Any] = {"is_traced": None, "stop": None, "busy": False, "fresh": True}
_undo: list[Callable[[], Any]] = []
_names: dict[str, str] = {}


class Hook:
    """Called by a line with a breakpoint; *test* returns whether the program stops there."""

    __slots__ = ("line", "test")

    def __init__(self, line: int) -> None:
        self.line = line
        self.test: Callable[[Any, Any], Any] = never

    def __call__(self, frame_globals: Any, frame_locals: Any) -> None:
        if armed and state["is_traced"](sys._getframe(1)):
            return
        if self.test(frame_globals, frame_locals):
            state["stop"](self, sys._getframe(1))

    def __reduce__(self) -> Any:
        # A function that is pickled by its code calls something harmless where it is restored.
        return (functools.partial, (operator.is_,))


def never(_globals: Any, _locals: Any) -> bool:
    return False


def always(_globals: Any, _locals: Any) -> bool:
    return True


def test_of(point: Any) -> Callable[[Any, Any], Any]:
    """Return the test of a hook for *point*; it asks pydevd where only pydevd can decide."""
    condition = point.condition
    if condition and "'_freezeframe'" in condition and not point.hit_condition:
        agent: Any = sys.modules["_freezeframe"]
        return agent.tester(condition) or always
    return always


def file_of(name: str) -> str:
    """Return the file of code as pydevd names it."""
    file = _names.get(name)
    if file is None:
        utils: Any = sys.modules["pydevd_file_utils"]
        file = _names[name] = str(utils.get_abs_path_real_path_and_base_from_file(name)[1])
    return file


def is_made_up(name: str) -> bool:
    """Return whether code with that file name is in no file, and has no breakpoint."""
    return name[:1] == "<" and name not in by_file


def instrumented(code: Any) -> Any:
    """Return *code* with the hooks of its file."""
    known = codes.get(id(code))
    plain = code if known is None else known[1]
    hooks = by_file.get(file_of(plain.co_filename))
    if not hooks:
        return code
    done: dict[int, Any] = {}
    state["busy"] = True
    try:
        calls = {line: hook.__call__ for line, hook in hooks.items()}
        new = _instrument.instrument(plain, calls, done)
    finally:
        state["busy"] = False
    lines = frozenset(hooks)
    for key, (each, original) in done.items():
        codes[key] = (each, original, lines)
    return new


def lacks_hooks(code: Any, at: int | None = None) -> bool:
    """Return whether *code* runs past lines that should have hooks.

    *at*: and whether functions that it makes from that instruction on do.
    """
    known = codes.get(id(code))
    plain, hooked = (code, frozenset[int]()) if known is None else known[1:]
    hooks = by_file.get(file_of(plain.co_filename))
    if not hooks:
        return False
    missing = {line for line, hook in hooks.items() if hook.test is not never} - hooked
    if missing and any(each in missing for _, _, each in plain.co_lines()):
        return True
    if at is None or not missing:
        return False
    inner = [
        index
        for index, each in enumerate(code.co_consts)
        if type(each) is types.CodeType and lacks_hooks(each, _FIRST)
    ]
    return bool(inner) and (at == _FIRST or _loads_later(code, inner, at))


#: the instruction before the first one
_FIRST = -1


def _loads_later(code: Any, constants: list[int], at: int) -> bool:
    """Return whether *code*, at an instruction, may come to one that loads one of *constants*."""
    loads: list[int] = []
    loops: list[tuple[int, int]] = []
    for each in dis.get_instructions(code):
        if each.opname == "LOAD_CONST" and each.arg in constants:
            loads.append(each.offset)
        elif "JUMP_BACKWARD" in each.opname:
            loops.append((each.argval, each.offset))
    return any(
        load >= at or any(start <= load and end >= at for start, end in loops) for load in loads
    )


def instrument_functions(files: set[str]) -> None:
    """Give the functions that exist already the hooks of *files*."""
    became: dict[int, Any] = {}
    for each in gc.get_objects():
        kind = type(each)
        if kind is types.FunctionType:
            code = each.__code__
            if file_of(code.co_filename) in files:
                if id(code) not in became:
                    became[id(code)] = (code, instrumented(code))
                if became[id(code)][1] is not code:
                    each.__code__ = became[id(code)][1]
        elif id(kind) in _GENERATORS and is_alive(each):
            begun.append(weakref.ref(each))


#: by the type's id: hashing a class of the program would run its code
_GENERATORS: dict[int, str] = {
    id(types.GeneratorType): "gi_frame",
    id(types.CoroutineType): "cr_frame",
    id(types.AsyncGeneratorType): "ag_frame",
}


def is_alive(generator: Any) -> bool:
    """Return whether a generator or coroutine continues in code that lacks hooks."""
    frame = getattr(generator, _GENERATORS.get(id(type(generator)), ""), None)
    return frame is not None and lacks_hooks(frame.f_code, frame.f_lasti)


# --- loaded code --------------------------------------------------------------------------------


def watch_loading() -> None:
    """Instrument code after it is loaded and before it runs."""
    if not _undo:
        _loading.watch_loaders(_loaded, _undo)
        _loading.watch_runners(_loaded, _undo, ("runpy", "_pydevd_bundle.pydevd_runpy"))


def watch_pytest() -> None:
    """Do the same for test modules, which pytest compiles, keeps and runs by itself."""
    _loading.watch_pytest(_loaded, _plain, _undo)


def silence() -> None:
    """Make every hook do nothing."""
    for hooks in by_file.values():
        for hook in hooks.values():
            hook.test = never


def remove() -> None:
    """Restore the original code of every function."""
    while _undo:
        _undo.pop()()
    silence()
    for each in gc.get_objects():
        if type(each) is types.FunctionType and id(each.__code__) in codes:
            each.__code__ = codes[id(each.__code__)][1]
    by_file.clear()


def _loaded(code: Any) -> Any:
    state["fresh"] = False
    if by_file:
        try:
            with lock:
                return instrumented(code)
        except Exception:
            # Code without hooks is found when it runs, and traced.
            pass
    return code


def _plain(value: Any) -> Any:
    return codes[id(value)][1] if id(value) in codes else value
