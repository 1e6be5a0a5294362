"""Keep pydevd from running the program's code unrequested; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_hooks`. To name the class of a
method pydevd reads the `__class__` of the first argument; to report an exception it calls the
exception's `__str__`, even where the program catches it and never would.
"""

from __future__ import annotations

import sys
from typing import Any

_text: Any = sys.modules["_freezeframe_text"]
#: modules that hold pydevd's references to these functions
_STEPPING = (
    "_pydevd_bundle.pydevd_utils",
    "_pydevd_bundle.pydevd_frame",
    "_pydevd_bundle.pydevd_cython",
    "_pydevd_bundle.pydevd_signature",
    "_pydevd_sys_monitoring._pydevd_sys_monitoring",
    "_pydevd_sys_monitoring._pydevd_sys_monitoring_cython",
)
_REPORTING = (
    "_pydevd_bundle.pydevd_comm",
    "_pydevd_bundle.pydevd_api",
    "_pydevd_bundle.pydevd_net_command_factory_json",
)


def install() -> None:
    """Replace pydevd's functions by ours, in this process."""
    _assigning()
    for name in list(sys.modules):
        if name.endswith(_STEPPING):
            module: Any = sys.modules[name]
            if hasattr(module, "get_clsname_for_code"):
                module.get_clsname_for_code = _class_name
    comm: Any = sys.modules["_pydevd_bundle.pydevd_comm"]
    if hasattr(comm, "freezeframe_hooks"):
        return
    comm.freezeframe_hooks = True
    build = comm.build_exception_info_response

    def build_exception_info_response(
        debugger: Any, thread_id: Any, thread: Any, *rest: Any, **more: Any
    ) -> Any:
        # An uncaught exception's `__str__` is about to run anyway, when Python prints it.
        if thread.stop_reason != comm.CMD_STEP_CAUGHT_EXCEPTION:
            return build(debugger, thread_id, thread, *rest, **more)
        changed = []
        frames = debugger.suspended_frames_manager.get_frames_list(thread_id)
        try:
            while frames is not None:
                if frames.exc_desc is not None:
                    changed.append((frames, frames.exc_desc))
                    frames.exc_desc = _text.message(frames.exc_desc)
                frames = frames.chained_frames_list
            return build(debugger, thread_id, thread, *rest, **more)
        finally:
            for frames, error in changed:
                frames.exc_desc = error

    for name in _REPORTING:
        module = sys.modules.get(name)
        if hasattr(module, "build_exception_info_response"):
            module.build_exception_info_response = build_exception_info_response


def _assigning() -> None:
    """Let statements assign to globals, and reject names that do not exist."""
    pydevd: Any = sys.modules["_pydevd_bundle.pydevd_vars"]
    if hasattr(pydevd, "freezeframe"):
        return
    pydevd.freezeframe = True
    evaluate, update = pydevd.evaluate_expression, pydevd.update_globals_and_locals
    rules: Any = sys.modules["_freezeframe_assigning"]

    def evaluate_expression(py_db: Any, frame: Any, expression: Any, is_exec: bool) -> Any:
        if is_exec and frame is not None:
            rules.check(expression, frame)
        try:
            return evaluate(py_db, frame, expression, is_exec)
        except (SystemExit, KeyboardInterrupt, GeneratorExit) as error:
            # It would end the thread that answers, and the request would never be answered.
            kind = type(type(error).__name__, (Exception,), {"__module__": "builtins"})
            ended = kind(*error.args)
            if is_exec:
                raise ended from None
            return pydevd.ExceptionOnEvaluate(ended, kind, None)

    def update_globals_and_locals(now: Any, before: Any, frame: Any) -> Any:
        if hasattr(frame, "IS_PLUGIN_FRAME"):
            for name, value in list(now.items()):
                if name in frame.f_locals and frame.f_locals[name] is not value:
                    sys.modules["_freezeframe_templates"].assign(frame, name, value)
            return None
        # pydevd would put new names among the frame's locals, where no code reads a global.
        if frame.f_locals is not frame.f_globals:
            for name, value in list(now.items()):
                if rules.is_global(name, frame) and before.get(name, before) is not value:
                    frame.f_globals[name] = before[name] = value
            for name in [name for name in before if name not in now]:
                if rules.is_global(name, frame):
                    del frame.f_globals[name], before[name]
        return update(now, before, frame)

    pydevd.evaluate_expression = evaluate_expression
    pydevd.update_globals_and_locals = update_globals_and_locals


def _class_name(code: Any, frame: Any) -> str | None:
    """Return the name of the class in whose body a function was written; None outside of one."""
    around = getattr(code, "co_qualname", "").rpartition(".")[0].rpartition(".")[2]
    return around if around and around != "<locals>" else None
