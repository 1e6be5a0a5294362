"""Makes greenlets debuggable; loaded by `bootstrap_agent.py`, under its rules.

pydevd writes advice to the program's standard error, at each message that it gets, unless it was
prepared for gevent (`gevent_use_agent.py`). dbg reports at the end what pydevd misses in greenlets
then: `unfollowed_children.py` reads the file. An exception that ends a greenlet of gevent is
reported by gevent's hub; one that ends another greenlet continues in its parent, which may catch
it: for pydevd both were uncaught from Python 3.12 on, and neither before.
"""

from __future__ import annotations

import atexit
import importlib
import os
import sys
from typing import Any

_MODULES = ("pydevd_utils", "pydevd_comm", "pydevd_daemon_thread")
#: where pydevd checks whether an object is a thread
_CLASSIFYING = (
    "_pydev_bundle.pydev_monkey",
    "_pydevd_bundle.pydevd_cython",
    "_pydevd_bundle.pydevd_trace_dispatch_regular",
    "_pydevd_sys_monitoring._pydevd_sys_monitoring",
)
_NAME = "notify_about_gevent_if_needed"


def install(secrets: list[str]) -> None:
    """Report once, in a file next to the newest of *secrets*, the files that contain the secret."""
    _see_hubs()
    constants = importlib.import_module("_pydevd_bundle.pydevd_constants")
    if constants.SUPPORT_GEVENT:
        _know_real_threads()
        return
    reported: list[str] = []

    def notify_about_gevent_if_needed(stream: Any = None) -> bool:
        if secrets and secrets[-1] not in reported and _has_patched():
            reported.append(secrets[-1])
            _report(secrets[-1])
        return False

    for name in _MODULES:
        module = importlib.import_module(f"_pydevd_bundle.{name}")
        if hasattr(module, _NAME):
            setattr(module, _NAME, notify_about_gevent_if_needed)
    atexit.register(notify_about_gevent_if_needed)


def _see_hubs() -> None:
    """Stop where gevent's hub reports an exception."""
    if "gevent.hub" in sys.modules:
        _wrap_hub(sys.modules["gevent.hub"])
        return
    loaders: Any = sys.modules["_frozen_importlib_external"]._LoaderBasics
    run = loaders.exec_module

    def exec_module(self: Any, module: Any) -> Any:
        result = run(self, module)
        if module.__dict__.get("__name__") == "gevent.hub":
            loaders.exec_module = run
            try:
                _wrap_hub(module)
            except Exception:
                pass  # another gevent
        return result

    # The import system removes frames of its own files from a traceback.
    exec_module.__code__ = exec_module.__code__.replace(
        co_filename="<frozen importlib._bootstrap_external>"
    )
    loaders.exec_module = exec_module


def _wrap_hub(module: Any) -> None:
    report = module.Hub.handle_error

    def handle_error(self: Any, context: Any, type: Any, value: Any, tb: Any) -> Any:
        try:
            agent: Any = sys.modules.get("_freezeframe_patches")
            if agent is not None and not issubclass(type, self.NOT_ERROR):
                agent.stop_for_greenlet(type, value, tb)
        except Exception:
            pass
        return report(self, context, type, value, tb)

    module.Hub.handle_error = handle_error


def _know_real_threads() -> None:
    """Show threads that gevent does not patch: they are the program's `threading.Thread`, not the
    copy's."""
    saved: Any = importlib.import_module("_pydev_bundle._pydev_saved_modules").threading
    program: Any = importlib.import_module("threading")
    if saved is program:
        return

    class Active(dict):  # type: ignore[type-arg]
        """The copy's threads, by ident, and those of the program that are native threads."""

        def __missing__(self, ident: int) -> Any:
            return program._active[ident]

        def get(self, ident: int, default: Any = None) -> Any:
            found = dict.get(self, ident)
            return program._active.get(ident, default) if found is None else found

        def values(self) -> Any:
            # A thread that gevent turned into a greenlet has another kind of ident.
            others = [each for each in list(program._active.values()) if each.ident in running()]
            return [*dict.values(self), *(each for each in others if each.ident not in self)]

    running = sys._current_frames
    saved._active = Active(saved._active)
    name = "_pydevd_sys_monitoring._pydevd_sys_monitoring"
    if name in sys.modules:
        sys.modules[name]._thread_active = saved._active  # type: ignore[attr-defined]
    both: Any = type(sys)("threading")
    both.__dict__.update(vars(saved), Thread=program.Thread)
    for name in _CLASSIFYING:
        module: Any = sys.modules.get(name)
        if module is not None:
            module.threading = both
    importlib.import_module("_pydev_bundle.pydev_monkey").threading_modules_to_patch.append(program)


def _has_patched() -> bool:
    monkey: Any = sys.modules.get("gevent.monkey")
    return bool(vars(monkey).get("saved")) if monkey is not None else False


def _report(secret: str) -> None:
    try:
        if os.path.exists(secret):
            path = os.path.join(os.path.dirname(secret), "greenlets")
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError:
        pass  # the debugger has detached, or the process may not write there
