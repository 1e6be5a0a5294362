"""Tasks of asyncio and trio: names, what each awaits, and what awaits it; runs inside the program.

Becomes the module `_freezeframe_tasks`. Works in every Python from 3.8 on and imports nothing of
this package. No code of the program runs: tasks are read through the classes of asyncio
and trio, coroutines through their frames.
"""

from __future__ import annotations

import gc
import os
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_TASKS = 200
_DEEPEST = 60
#: tasks that await one another, shown below a stack
_MOST_AWAITING = 8
#: internal objects of the interpreter between a coroutine and what it awaits
_BETWEEN = frozenset(
    {"async_generator_asend", "async_generator_athrow", "coroutine_wrapper", "anext_awaitable"}
)
#: ids of types: comparing a class of the program would run its code
_SUSPENDED = frozenset(
    map(id, (types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType))
)
_COROUTINE = 0x80 | 0x100 | 0x200


def _asyncio() -> Any:
    return sys.modules.get("asyncio.tasks")


def _is_task(value: Any) -> bool:
    module = _asyncio()
    kinds = tuple({module.Task, getattr(module, "_PyTask", module.Task)})
    return issubclass(type(value), kinds)


def _is_future(value: Any) -> bool:
    futures: Any = sys.modules["asyncio.futures"]
    kinds = tuple({futures.Future, getattr(futures, "_PyFuture", futures.Future)})
    return issubclass(type(value), kinds)


def _field(value: Any, name: str) -> Any:
    """Return an attribute of a task or future as asyncio's own class has it, not a subclass."""
    for kind in type(value).__mro__:
        if kind.__module__ in ("asyncio.tasks", "asyncio.futures", "_asyncio"):
            found = kind.__dict__.get(name)
            if found is not None:
                try:
                    return found.__get__(value, type(value))
                except Exception:
                    return None
    # asyncio's pure-Python classes keep theirs in the object.
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return None


def name_of(task: Any) -> str:
    if _is_trio_task(task):
        return str(task.name)
    get = _field(task, "get_name")
    name = get() if get is not None else None
    return name if type(name) is str else type(task).__name__


def coroutine_of(task: Any) -> Any:
    if _is_trio_task(task):
        return task.coro
    get = _field(task, "get_coro")
    return get() if get is not None else None


def all_tasks() -> list[Any]:
    """Return the tasks that are not done, in the order of their creation, as far as known."""
    module = _asyncio()
    if module is None:
        return _trio_tasks()
    found: dict[int, Any] = {}
    for name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks"):
        for each in list(getattr(module, name, ())):
            if _is_task(each):
                found[id(each)] = each
    if not found:
        # From 3.14 on they are kept in C, by thread and loop.
        loops = {id(loop): loop for loop in getattr(module, "_current_tasks", {})}
        for loop in loops.values():
            found.update((id(each), each) for each in module.all_tasks(loop))
    live = [task for task in found.values() if not (_field(task, "done") or bool)()]
    return sorted(live, key=lambda task: _number(name_of(task))) + _trio_tasks()


def _number(name: str) -> tuple[str, int]:
    head, _, tail = name.rpartition("-")
    return (head, int(tail)) if tail.isdecimal() else (name, -1)


# --- trio -----------------------------------------------------------------------------------------

_TRIO = "trio._core._run"
#: the function in which a nursery waits for its children
_NURSERY_EXIT = "_nested_child_finished"


def _is_trio_task(value: Any) -> bool:
    module: Any = sys.modules.get(_TRIO)
    return module is not None and type(value) is module.Task


def _trio_runners() -> list[Any]:
    """Return the event loops of trio: each is a variable of a function that runs it."""
    module: Any = sys.modules.get(_TRIO)
    found: dict[int, Any] = {}
    if module is None:
        return []
    frame: Any
    for frame in sys._current_frames().values():
        while frame is not None:
            code = frame.f_code
            if code.co_filename == module.__file__ and "runner" in code.co_varnames:
                runner = frame.f_locals.get("runner")
                if type(runner) is module.Runner:
                    found[id(runner)] = runner
            frame = frame.f_back
    return list(found.values())


def _is_of_program(task: Any) -> bool:
    """Whether a task of trio is the program's: trio's own are children of its first task."""
    nursery = task.parent_nursery
    return nursery is not None and any(
        task is runner.main_task or nursery.parent_task is not runner.init_task
        for runner in _trio_runners()
    )


def _trio_tasks() -> list[Any]:
    found = [task for runner in _trio_runners() for task in list(runner.tasks)]
    live = [task for task in found if _is_of_program(task)]
    return sorted(live, key=lambda task: (str(task.name), task._counter))


def _is_scheduled(task: Any) -> bool:
    return any(task is each for runner in _trio_runners() for each in list(runner.runq))


# --- the frames of a task -------------------------------------------------------------------------


def chain(coroutine: Any) -> list[Any]:
    """Return the frames of a suspended coroutine and of what it awaits, outermost first."""
    frames: list[Any] = []
    value = coroutine
    while value is not None and len(frames) < _DEEPEST:
        kind = type(value)
        if id(kind) in _SUSPENDED:
            prefix = {types.CoroutineType: "cr", types.GeneratorType: "gi"}.get(kind, "ag")
            frame = getattr(value, f"{prefix}_frame")
            if frame is None:
                break
            frames.append(frame)
            value = getattr(value, "gi_yieldfrom" if prefix == "gi" else f"{prefix}_await")
        elif kind.__name__ in _BETWEEN:
            inner = [each for each in gc.get_referents(value) if id(type(each)) in _SUSPENDED]
            value = inner[0] if inner else None
        else:
            break
    return frames


def current_tasks() -> list[Any]:
    """Return the task that each event loop currently runs."""
    module = _asyncio()
    of_trio = [task for task in _trio_tasks() if getattr(task.coro, "cr_running", False)]
    if module is None:
        return of_trio
    found = [task for task in dict(getattr(module, "_current_tasks", {})).values() if task]
    if not found:
        try:
            task = module.current_task()
        except RuntimeError:
            task = None
        found = [task] if task is not None else []
    return [task for task in found if _is_task(task)] + of_trio


def task_of(frames: Any) -> Any:
    """Return the task that runs in a stack of *frames*, or None."""
    ids = {id(frame) for frame in frames}
    for task in current_tasks():
        frame = getattr(coroutine_of(task), "cr_frame", None)
        if frame is not None and id(frame) in ids:
            return task
    return None


def awaiter(task: Any) -> Any:
    """Return the task that resumes when this one is done, or None."""
    if _is_trio_task(task):
        parent = task.parent_nursery.parent_task
        ends = any(frame.f_code.co_name == _NURSERY_EXIT for frame in chain(parent.coro))
        return parent if ends and _is_of_program(parent) else None
    for callback, *_ in _field(task, "_callbacks") or ():
        found = _woken(callback, 0)
        if found is not None and found is not task:
            return found
    return None


def _woken(callback: Any, depth: int) -> Any:
    """Return the task that a callback of a future wakes, through `gather`, `wait`, a task group."""
    if depth > 4:
        return None
    kind = type(callback)
    if kind in (types.BuiltinFunctionType, types.MethodType) or "Wakeup" in kind.__name__:
        owner: Any = getattr(callback, "__self__", None)
        if owner is not None and _is_task(owner):
            return owner
        if type(owner).__name__ == "TaskGroup" and type(owner).__module__ == "asyncio.taskgroups":
            return owner._parent_task if owner._exiting else None
        return None
    if kind is types.FunctionType and callback.__closure__:
        for cell in callback.__closure__:
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            found = _through(value, depth)
            if found is not None:
                return found
    for value in getattr(callback, "args", ()) if kind.__name__ == "partial" else ():
        found = _through(value, depth)
        if found is not None:
            return found
    return None


def _through(value: Any, depth: int) -> Any:
    if _is_future(value) and not _is_task(value):
        for callback, *_ in _field(value, "_callbacks") or ():
            found = _woken(callback, depth + 1)
            if found is not None:
                return found
    return None


def awaiting(task: Any) -> list[tuple[str, list[Any]]]:
    """Return the tasks that await *task*, nearest first, each with its frames, innermost first."""
    found: list[tuple[str, list[Any]]] = []
    seen = {id(task)}
    while len(found) < _MOST_AWAITING:
        task = awaiter(task)
        if task is None or id(task) in seen:
            break
        seen.add(id(task))
        frames = chain(coroutine_of(task))
        if not frames:
            break
        found.append((name_of(task), frames[::-1]))
    return found


# --- for `threads` --------------------------------------------------------------------------------


def listing(is_library: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Return the description of each live task."""
    running = {id(task) for task in current_tasks()}
    result = []
    for task in all_tasks()[:_MOST_TASKS]:
        coroutine = coroutine_of(task)
        frames = chain(coroutine)
        state, awaits = "ready", None
        if id(task) in running:
            state, frames = "running", _running(frames)
        elif frames and frames[-1].f_lasti <= _start(frames[0].f_code) and len(frames) == 1:
            state = "not started"
        elif _is_trio_task(task):
            # The task waits for what it calls in trio; one that was rescheduled is about to run.
            if frames and not _is_scheduled(task):
                state, awaits = "waiting", _awaited(task, frames, is_library)
        elif (future := _field(task, "_fut_waiter")) is not None:
            state, awaits = "waiting", _awaited(future, frames, is_library)
        user_frames = [frame for frame in frames if not is_library(frame.f_code.co_filename)]
        at = user_frames[-1] if user_frames else frames[-1] if frames else None
        by = awaiter(task)
        result.append(
            {
                "name": name_of(task),
                "state": state,
                "awaits": awaits,
                "by": name_of(by) if by is not None else None,
                "function": _function(at, coroutine),
                "path": os.path.abspath(at.f_code.co_filename) if at is not None else None,
                "line": at.f_lineno if at is not None else None,
            }
        )
    return result


def _running(frames: list[Any]) -> list[Any]:
    """Return the frames of a coroutine that a thread runs: a running one reports only its own."""
    frame: Any
    for frame in sys._current_frames().values():
        stack: list[Any] = []
        while frame is not None:
            stack.append(frame)
            if frames and frame is frames[0]:
                return stack[::-1]
            frame = frame.f_back
    return frames


def _start(code: Any) -> int:
    names: Any = sys.modules.get("_freezeframe_names")
    return int(names._first_resume(code)) if names is not None else -1


def _function(frame: Any, coroutine: Any) -> str:
    if frame is None:
        name = (
            getattr(coroutine, "__qualname__", None) if id(type(coroutine)) in _SUSPENDED else None
        )
        return name if type(name) is str else type(coroutine).__name__
    return str(getattr(frame.f_code, "co_qualname", frame.f_code.co_name))


def _awaited(future: Any, frames: list[Any], is_library: Callable[[str], bool]) -> str:
    """Return what a task waits for: another task, a `gather`, or a call into a library."""
    if not _is_trio_task(future) and _is_task(future):
        return f"task {name_of(future)}"
    if type(future).__name__ == "_GatheringFuture":
        count = len(getattr(future, "_children", ()))
        return f"gather of {count}"
    called = None
    for frame in reversed(frames):
        if not is_library(frame.f_code.co_filename):
            break
        called = frame
    if called is None:
        return "trio" if _is_trio_task(future) else type(future).__name__
    # `asyncio.locks.Event.wait` is known as `asyncio.Event.wait`.
    package = str(called.f_globals.get("__name__")).partition(".")[0]
    return f"{package}.{_function(called, None)}"


def is_coroutine(code: Any) -> bool:
    return bool(code.co_flags & _COROUTINE)
