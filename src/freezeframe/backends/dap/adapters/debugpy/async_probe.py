"""Coroutines and tasks in stacks and steps; runs inside the debuggee.

Under the rules of `main_probe.py`; it becomes the module `_freezeframe_async`. A stack in a task is
told with the name of the task, and continued by the frames of those that await it. A step that
began in a coroutine of the user's ends in code of the user's: not in the event loop that the
coroutine gave control to, and not where an async generator merely waits.
"""

from __future__ import annotations

import re
import sys
import threading
import weakref
from typing import Any

_tasks: Any = sys.modules["_freezeframe_tasks"]
_STEP_INTO, _STEP_OVER, _STEP_OUT = 107, 108, 109
_INTO_MY_CODE, _OVER_MY_CODE, _OUT_MY_CODE = 144, 159, 160
_INTO_COROUTINE = 206
_STEPS = frozenset(
    {_STEP_INTO, _STEP_OVER, _STEP_OUT, _INTO_MY_CODE, _OVER_MY_CODE, _OUT_MY_CODE, _INTO_COROUTINE}
)
_OUT = frozenset({_STEP_OUT, _OUT_MY_CODE})
_ASYNC_GENERATOR = 0x200
_RETURNED = "__pydevd_ret_val_dict"
#: as `exceptions.py` has it
_LIBRARY = re.compile(
    r"[\\/](site-packages|dist-packages|lib[\\/]python\d[^\\/]*|importlib|debugpy|_pydevd_bundle)[\\/]"
)
_PYDEVD = re.compile(
    r"[\\/](?:_pydevd|pydevd|_pydev)[^\\/]*[\\/]|[\\/]pydevd[^\\/]*\.py[x]?$|^<frozen freez"
)
#: thread → how it was let go: command, frame, the task that awaits its task
_begun: dict[int, tuple[int, Any, Any]] = {}
#: thread → itself and the frame that it steps out of
_leaving: dict[int, tuple[Any, Any]] = {}
#: threads whose step goes on instead of ending
_declined: set[int] = set()


def is_library(path: str) -> bool:
    return path.startswith("<frozen") or _LIBRARY.search(path) is not None


def snapshot(stacks: bool, is_hidden: Any) -> str:
    """Return the living tasks of this process, with the *stacks* of its threads, as JSON."""
    import json

    told = {"tasks": _tasks.listing(is_library)}
    if stacks:
        told["threads"] = sys.modules["_freezeframe_stacks"].listing(is_library, is_hidden)
    return json.dumps(told)


# --- stacks ---------------------------------------------------------------------------------------


def install() -> None:
    """Tell tasks with stacks, in this process, from now on."""
    utils: Any = sys.modules["_pydevd_bundle.pydevd_frame_utils"]
    if hasattr(utils, "freezeframe"):
        return
    utils.freezeframe = True
    their_list, their_trace = (
        utils.create_frames_list_from_frame,
        utils.create_frames_list_from_traceback,
    )

    def create_frames_list_from_frame(frame: Any) -> Any:
        return _with_tasks(utils, their_list(frame))

    def create_frames_list_from_traceback(*arguments: Any, **named: Any) -> Any:
        return _with_tasks(utils, their_trace(*arguments, **named))

    utils.create_frames_list_from_frame = create_frames_list_from_frame
    utils.create_frames_list_from_traceback = create_frames_list_from_traceback
    factory: Any = sys.modules["_pydevd_bundle.pydevd_net_command_factory_xml"].NetCommandFactory
    their_frames = factory._iter_visible_frames_info

    def _iter_visible_frames_info(
        self: Any, py_db: Any, frames: Any, *rest: Any, **named: Any
    ) -> Any:
        name = getattr(frames, "freezeframe_task", None)
        for told in their_frames(self, py_db, frames, *rest, **named):
            if name is not None:
                told = (*told[:2], f"[Task: {name}] {told[2]}", *told[3:])
                name = None
            yield told

    factory._iter_visible_frames_info = _iter_visible_frames_info


def _with_tasks(utils: Any, frames: Any) -> Any:
    try:
        task = _tasks.task_of(frames)
        if task is not None and getattr(frames, "freezeframe_task", None) is None:
            frames.freezeframe_task = _tasks.name_of(task)
            last = frames
            while last.chained_frames_list is not None:
                last = last.chained_frames_list
            for name, suspended in _tasks.awaiting(task):
                more = utils.FramesList()
                more.exc_desc = f"awaiting {name}"
                for frame in suspended:
                    more.append(frame)
                last.chained_frames_list = last = more
    except Exception:
        # A stack without its task is still the stack.
        pass
    return frames


# --- steps ----------------------------------------------------------------------------------------


def goes_on(debugger: Any, thread: Any, reason: int) -> bool:
    """Return whether a step is not over although pydevd is about to end it."""
    ident = threading.get_ident()
    if reason in _OUT:
        _drop_unreturned()
    if reason not in _STEPS or ident not in _begun or not _redirected(debugger, thread, ident):
        return False
    _declined.add(ident)
    return True


def declined() -> bool:
    """Return, once, whether `goes_on` was true for this thread."""
    ident = threading.get_ident()
    _leaving.pop(ident, None)
    found = ident in _declined
    _declined.discard(ident)
    if not found:
        _begun.pop(ident, None)
    return found


def resumed(thread: Any, frame: Any) -> None:
    """Keep where a step begins, if that is in a coroutine of the user's."""
    command = thread.additional_info.pydev_step_cmd
    code = frame.f_code
    if command in _OUT and sys.version_info >= (3, 12):
        _leaving[threading.get_ident()] = (thread, thread.additional_info.pydev_step_stop)
        _watch_unwinding()
    if command not in _STEPS or not _tasks.is_coroutine(code) or is_library(code.co_filename):
        return
    by = None
    task = _tasks.task_of(_stack(frame))
    if task is not None:
        found = _tasks.awaiter(task)
        by = weakref.ref(found) if found is not None else None
    _begun[threading.get_ident()] = (command, frame, by)
    if by is not None and command not in _OUT and sys.version_info >= (3, 12):
        _leaving[threading.get_ident()] = (thread, frame)
        _watch_unwinding()


def _stack(frame: Any) -> list[Any]:
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def _redirected(debugger: Any, thread: Any, ident: int) -> bool:
    """Let a step go on that would end in an event loop; return whether it does."""
    command, begun, by = _begun[ident]
    traced: Any = sys._getframe(2)
    returns: bool | None = None
    while traced is not None and _PYDEVD.search(traced.f_code.co_filename):
        name = traced.f_code.co_name
        if returns is None and ("return" in name or "line" in name or "yield" in name):
            returns = "line" not in name
        traced = traced.f_back
    if traced is None:
        return False
    opcode = _opcode(traced)
    if returns is None:
        returns = opcode.startswith(("RETURN_", "YIELD_"))
    info = thread.additional_info
    if traced is begun and returns and opcode == "YIELD_VALUE":
        # It waits, or has yielded: pydevd takes that for a return in async generators up to 3.11.
        _forget_returned(traced)
        out = command in (_STEP_OUT, _OUT_MY_CODE)
        return _rearm(debugger, thread, info, _STEP_OUT if out else _STEP_OVER, begun)
    place = traced.f_back if returns else traced
    stack = _stack(place)
    if not stack or begun in stack:
        return False
    waits = begun.f_code.co_flags & _ASYNC_GENERATOR and _opcode(begun) == "YIELD_VALUE"
    if waits and sys.version_info < (3, 12):
        # pydevd takes it for a function that has returned; it waits, or has yielded.
        return _rearm(debugger, thread, info, _STEP_OVER, begun)
    if not is_library(place.f_code.co_filename):
        return False
    user = next((each for each in stack if not is_library(each.f_code.co_filename)), None)
    if user is not None and _tasks.is_coroutine(user.f_code):
        return False
    if not any(each.f_code.co_name in _LOOPS for each in stack):
        return False
    return _rearm(debugger, thread, info, _STEP_OVER, _awaiting_frame(by) or user)


#: functions that run an event loop: asyncio's, trio's
_LOOPS = frozenset({"run_forever", "_run_once", "unrolled_run", "run", "start_guest_run"})


# --- functions that an exception leaves ----------------------------------------------------------


def _drop_unreturned() -> None:
    """Forget what a function has "returned" that an exception leaves: pydevd keeps None for it."""
    frame: Any = sys._getframe(1)
    while frame is not None and _PYDEVD.search(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is not None and not _opcode(frame).startswith(("RETURN_", "YIELD_")):
        _forget_returned(frame)


def _watch_unwinding() -> None:
    """See exceptions leave frames: from 3.12 on pydevd's steps out of one of them never end."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    tool = next((id for id in (4, 3) if monitoring.get_tool(id) in (None, "freezeframe")), None)
    if tool is None:
        return
    if monitoring.get_tool(tool) is None:
        monitoring.use_tool_id(tool, "freezeframe")
    unwinds = monitoring.events.PY_UNWIND

    def on_unwind(code: Any, _offset: int, _error: Any) -> None:
        ident = threading.get_ident()
        frame: Any = sys._getframe(1)
        if not _leaving:
            monitoring.set_events(tool, 0)
        elif ident in _leaving and _leaving[ident][1] is frame:
            thread, _ = _leaving.pop(ident)
            debugger = sys.modules["_freezeframe_cures"].current()
            back = frame.f_back
            if ident in _begun and back is not None and is_library(back.f_code.co_filename):
                # It ends its task: who awaits that goes on.
                back = _awaiting_frame(_begun[ident][2]) or back
            _rearm(debugger, thread, thread.additional_info, _STEP_OVER, back)

    monitoring.register_callback(tool, unwinds, on_unwind)
    monitoring.set_events(tool, unwinds)


def left(frame: Any) -> None:
    """Up to 3.11: a step over what ends a task goes on where that is awaited."""
    ident = threading.get_ident()
    command, begun, by = _begun.get(ident, (0, None, None))
    if begun is not frame or command in _OUT or _opcode(frame).startswith(("RETURN_", "YIELD_")):
        return
    debugger = sys.modules["_freezeframe_cures"].current()
    thread = threading.current_thread()
    info: Any = thread.additional_info  # type: ignore[attr-defined]
    if frame.f_back is not None and is_library(frame.f_back.f_code.co_filename):
        _rearm(debugger, thread, info, _STEP_OVER, _awaiting_frame(by))


def _awaiting_frame(by: Any) -> Any:
    """Return the user's innermost frame of a task that is suspended."""
    task = by() if by is not None else None
    if task is None:
        return None
    frames = _tasks.chain(_tasks._coroutine(task))
    own = [frame for frame in frames if not is_library(frame.f_code.co_filename)]
    return own[-1] if own else None


def _rearm(debugger: Any, thread: Any, info: Any, command: int, frame: Any) -> bool:
    if frame is None:
        return False
    info.pydev_step_cmd, info.pydev_step_stop = command, frame
    info.pydev_original_step_cmd = command
    update = getattr(info, "update_stepping_info", None)
    if update is not None:
        update()
    if sys.version_info >= (3, 12):
        monitoring: Any = sys.modules["_pydevd_sys_monitoring.pydevd_sys_monitoring"]
        monitoring.enable_code_tracing(thread.ident, frame.f_code, frame)
    else:
        debugger.set_trace_for_frame_and_parents(thread.ident, frame)
    return True


def _opcode(frame: Any) -> str:
    import opcode

    code = frame.f_code.co_code
    at = frame.f_lasti
    return opcode.opname[code[at]] if 0 <= at < len(code) else ""


def _forget_returned(frame: Any) -> None:
    back = frame.f_back
    kept = back.f_locals.get(_RETURNED) if back is not None else None
    if type(kept) is dict:
        kept.pop(frame.f_code.co_name, None)
