"""Coroutines and tasks in stacks and steps; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_async`. A stack in a task has the
name of the task, and is continued by the frames that await it. A step that began in a coroutine of
the user's code ends in user code: not in the event loop that the coroutine yielded to, and not
where an async generator merely waits.
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
_INTO = frozenset({_STEP_INTO, _INTO_MY_CODE})
_OVER = frozenset({_STEP_OVER, _OVER_MY_CODE})
_OUT = frozenset({_STEP_OUT, _OUT_MY_CODE})
_ASYNC_GENERATOR = 0x200
_RETURNED = "__pydevd_ret_val_dict"
#: the same as in `exceptions.py`
_LIBRARY = re.compile(
    r"[\\/](site-packages|dist-packages|lib[\\/]python\d[^\\/]*|importlib|debugpy|_pydevd_bundle)[\\/]"
)
_PYDEVD = re.compile(
    r"[\\/](?:_pydevd|pydevd|_pydev)[^\\/]*[\\/]|[\\/]pydevd[^\\/]*\.py[x]?$|^<frozen freez"
)
#: thread → how it was resumed: command, frame, the task that awaits its task
_begun: dict[int, tuple[int, Any, Any]] = {}
#: thread → the thread and the frame that it steps out of
_leaving: dict[int, tuple[Any, Any]] = {}
#: threads whose step continues instead of ending
_declined: set[int] = set()


def is_library(path: str) -> bool:
    return path.startswith("<frozen") or _LIBRARY.search(path) is not None


def snapshot(stacks: bool, waits: bool, is_hidden: Any) -> str:
    """Return the live tasks of this process, as JSON; with the *stacks* of its threads, and with
    what threads and tasks wait for (*waits*)."""
    import json

    result: dict[str, Any] = {"tasks": _tasks.listing(is_library)}
    if waits:
        result["waits"] = sys.modules["_freezeframe_waits"].facts(is_library, is_hidden)
    if stacks:
        result["threads"] = sys.modules["_freezeframe_stacks"].listing(is_library, is_hidden)
        for each in result["threads"]:
            each["id"] = _dap_id(each["ident"])
    return json.dumps(result)


def _dap_id(ident: int) -> Any:
    """Return the number that pydevd gives to a thread; None if it does not know the thread."""
    thread = threading._active.get(ident)  # type: ignore[attr-defined]
    schema: Any = sys.modules["_pydevd_bundle._debug_adapter.pydevd_base_schema"].BaseSchema
    name = getattr(thread, "__pydevd_id__", None)
    return None if name is None else schema._translate_id_to_dap(name)


# --- stacks ---------------------------------------------------------------------------------------


def install() -> None:
    """Show tasks in stacks, in this process, from now on."""
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
        for info in their_frames(self, py_db, frames, *rest, **named):
            if name is not None:
                info = (*info[:2], f"[Task: {name}] {info[2]}", *info[3:])
                name = None
            yield info

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
    """Return whether a step is not finished although pydevd is about to end it."""
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
    """Record where a step begins, if that is in a coroutine of the user's code."""
    command = thread.additional_info.pydev_step_cmd
    code = frame.f_code
    if command in _OVER and sys.version_info < (3, 12):
        _stop_at_returns(sys.modules["_freezeframe_patches"].current())
    if command in _STEPS and sys.version_info >= (3, 12):
        out = thread.additional_info.pydev_step_stop if command in _OUT else frame
        _leaving[threading.get_ident()] = (thread, out)
        _watch_unwinding()
    if command not in _STEPS or not _tasks.is_coroutine(code) or is_library(code.co_filename):
        return
    by = None
    task = _tasks.task_of(_stack(frame))
    if task is not None:
        found = _tasks.awaiter(task)
        by = weakref.ref(found) if found is not None else None
    _begun[threading.get_ident()] = (command, frame, by)


def _stop_at_returns(debugger: Any) -> None:
    """End a step over a function's last line in the caller's line, as from 3.12 on.

    Up to 3.11 pydevd continues it to the next event of the caller, and `return f()` has none but
    its own return: the step would end in the caller's caller.
    """
    plugins = debugger.get_plugin_lazy_init()
    their_step_over = plugins.cmd_step_over
    if hasattr(their_step_over, "freezeframe"):
        return

    def cmd_step_over(
        py_db: Any, frame: Any, event: str, info: Any, thread: Any, stop_info: Any, stop: Any
    ) -> Any:
        # pydevd has just turned the step into one that ends anywhere: its frame returns.
        returns = event == "return" and info.pydev_step_cmd in _INTO
        back = frame.f_back if returns and _opcode(frame).startswith("RETURN_") else None
        ends = back is not None and not is_library(back.f_code.co_filename)
        return their_step_over(py_db, frame, event, info, thread, stop_info, stop or ends)

    cmd_step_over.freezeframe = True  # type: ignore[attr-defined]
    plugins.cmd_step_over = cmd_step_over


def _stack(frame: Any) -> list[Any]:
    found = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


def _redirected(debugger: Any, thread: Any, ident: int) -> bool:
    """Continue a step that would end in an event loop; return whether it continues."""
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
        # The generator waits or has yielded, which pydevd takes for a return in async generators up
        # to 3.11.
        _forget_returned(traced)
        out = command in (_STEP_OUT, _OUT_MY_CODE)
        return _rearm(debugger, thread, info, _STEP_OUT if out else _STEP_OVER, begun)
    location = traced.f_back if returns else traced
    stack = _stack(location)
    if not stack or begun in stack:
        return False
    waits = begun.f_code.co_flags & _ASYNC_GENERATOR and _opcode(begun) == "YIELD_VALUE"
    if waits and sys.version_info < (3, 12):
        # pydevd takes it for a function that has returned; it waits, or has yielded.
        return _rearm(debugger, thread, info, _STEP_OVER, begun)
    if not is_library(location.f_code.co_filename):
        return False
    if _tasks.is_coroutine(location.f_code) and _opcode(begun).startswith("RETURN_"):
        return False  # a framework's coroutine has awaited it: the caller, not an event loop
    user = next((each for each in stack if not is_library(each.f_code.co_filename)), None)
    if user is not None and _tasks.is_coroutine(user.f_code):
        return False
    if not any(each.f_code.co_name in _LOOPS for each in stack):
        return False
    return _rearm(debugger, thread, info, _STEP_OVER, _awaiting_frame(by) or user)


#: functions that run an event loop: asyncio's, trio's
_LOOPS = frozenset({"run_forever", "_run_once", "unrolled_run", "run", "start_guest_run"})


# --- functions left by an exception ---------------------------------------------------------------


def _drop_unreturned() -> None:
    """Drop the None that pydevd records as the return value of a function that raised."""
    frame: Any = sys._getframe(1)
    while frame is not None and _PYDEVD.search(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is not None and not _opcode(frame).startswith(("RETURN_", "YIELD_")):
        _forget_returned(frame)


def _watch_unwinding() -> None:
    """Observe exceptions leaving frames: from 3.12 on pydevd's steps in such a frame never end."""
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
            debugger = sys.modules["_freezeframe_patches"].current()
            callers = _stack(frame.f_back)
            back = next((each for each in callers if not is_library(each.f_code.co_filename)), None)
            if ident in _begun and back is not frame.f_back:
                # The task ends: the step continues in the task that awaits it.
                back = _awaiting_frame(_begun[ident][2]) or back
            if _rearm(debugger, thread, thread.additional_info, _STEP_OVER, back):
                _leaving[ident] = (thread, back)  # it may leave that frame too

    monitoring.register_callback(tool, unwinds, on_unwind)
    monitoring.set_events(tool, unwinds)


def left(frame: Any) -> None:
    """Up to 3.11: continue a step over the end of a task where that task is awaited."""
    ident = threading.get_ident()
    command, begun, by = _begun.get(ident, (0, None, None))
    if begun is not frame or command in _OUT or _opcode(frame).startswith(("RETURN_", "YIELD_")):
        return
    debugger = sys.modules["_freezeframe_patches"].current()
    thread = threading.current_thread()
    info: Any = thread.additional_info  # type: ignore[attr-defined]
    if frame.f_back is not None and is_library(frame.f_back.f_code.co_filename):
        _rearm(debugger, thread, info, _STEP_OVER, _awaiting_frame(by))


def _awaiting_frame(by: Any) -> Any:
    """Return the innermost user frame of a suspended task."""
    task = by() if by is not None else None
    if task is None:
        return None
    frames = _tasks.chain(_tasks.coroutine_of(task))
    user_frames = [frame for frame in frames if not is_library(frame.f_code.co_filename)]
    return user_frames[-1] if user_frames else None


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
