"""Keep pydevd from running the program's code unasked; runs inside the debuggee.

Under the rules of `main_probe.py`; it becomes the module `_freezeframe_hooks`. To name the class of
a method pydevd asks the first argument for its `__class__`; to tell of an exception it calls the
exception's `__str__`, also where the program catches it and never would.
"""

from __future__ import annotations

import sys
from typing import Any

_text: Any = sys.modules["_freezeframe_text"]
#: where pydevd keeps its names of these functions
_STEPPING = (
    "_pydevd_bundle.pydevd_utils",
    "_pydevd_bundle.pydevd_frame",
    "_pydevd_bundle.pydevd_cython",
    "_pydevd_bundle.pydevd_signature",
    "_pydevd_sys_monitoring._pydevd_sys_monitoring",
    "_pydevd_sys_monitoring._pydevd_sys_monitoring_cython",
)
_TELLING = (
    "_pydevd_bundle.pydevd_comm",
    "_pydevd_bundle.pydevd_api",
    "_pydevd_bundle.pydevd_net_command_factory_json",
)


def install() -> None:
    for name in list(sys.modules):
        if name.endswith(_STEPPING):
            module: Any = sys.modules[name]
            if hasattr(module, "get_clsname_for_code"):
                module.get_clsname_for_code = _class_name
    comm: Any = sys.modules["_pydevd_bundle.pydevd_comm"]
    build = comm.build_exception_info_response
    if getattr(build, "freezeframe", False):
        return

    def build_exception_info_response(
        debugger: Any, thread_id: Any, thread: Any, *rest: Any, **more: Any
    ) -> Any:
        # What nobody catches, Python is about to tell in the exception's own words.
        if thread.stop_reason != comm.CMD_STEP_CAUGHT_EXCEPTION:
            return build(debugger, thread_id, thread, *rest, **more)
        changed = []
        told = debugger.suspended_frames_manager.get_frames_list(thread_id)
        try:
            while told is not None:
                if told.exc_desc is not None:
                    changed.append((told, told.exc_desc))
                    told.exc_desc = _text.message(told.exc_desc)
                told = told.chained_frames_list
            return build(debugger, thread_id, thread, *rest, **more)
        finally:
            for told, error in changed:
                told.exc_desc = error

    build_exception_info_response.freezeframe = True  # type: ignore[attr-defined]
    for name in _TELLING:
        module = sys.modules.get(name)
        if hasattr(module, "build_exception_info_response"):
            module.build_exception_info_response = build_exception_info_response


def _class_name(code: Any, frame: Any) -> str | None:
    """Return the name of the class in whose body a function was written; None outside of one."""
    around = getattr(code, "co_qualname", "").rpartition(".")[0].rpartition(".")[2]
    return around if around and around != "<locals>" else None
