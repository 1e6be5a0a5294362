"""Drives the recorder by calls in the code itself; the module `_freezeframe_driver`.

Runs inside the traced program and imports nothing of this package. Used in CPython 3.11 to 3.13.
Code of the workspace is instrumented when it is loaded, before it runs; code of libraries stays as
it is, and runs at full speed.
"""

from __future__ import annotations

import os
import sys
from types import FunctionType
from typing import Any

_bytecode: Any = sys.modules["_freezeframe_instrument"]
_loading: Any = sys.modules["_freezeframe_loading"]
_omissions: Any = sys.modules["_freezeframe_omissions"]
_recorder: Any = sys.modules["_freezeframe_recorder"]
_instrumentation: Any = sys.modules["_freezeframe_instrumentation"]
_hooks: Any = sys.modules["_freezeframe_recording_hooks"]
_Code: Any = type((lambda: None).__code__)
#: modules that read the bytecode of functions: code that mentions one is left as it is
_READERS = frozenset(("cloudpickle", "dill", "numba", "torch", "jax"))
#: bytes of the bytecode of one code object that is instrumented
_MOST_BYTES = 400_000
_undo: list[Any] = []
#: id of instrumented code → the code and the original
_originals: dict[int, tuple[Any, Any]] = {}
_failed: list[str] = []
#: files whose code stays as it is
_left: set[str] = set()


def begin() -> str | None:
    """Start to trace; return why that is impossible, if it is."""
    _loading.watch_loaders(_loaded, _undo)
    _recorder.Settings.on_untraced = _note_compiled
    _take_main()
    _hide_hooks()
    return None


def _hide_hooks() -> None:
    """Do not let a trace function of the program see the functions that its code calls."""
    settrace, gettrace = sys.settrace, sys.gettrace

    def set_filtered(function: Any, /) -> None:
        def on_call(frame: Any, event: str, arg: Any) -> Any:
            if frame.f_globals.get("__name__", "").startswith("_freezeframe_"):
                return None
            return function(frame, event, arg)

        on_call.freezeframe = function  # type: ignore[attr-defined]
        settrace(None if function is None else on_call)

    def get_given() -> Any:
        found: Any = gettrace()
        return getattr(found, "freezeframe", found) if type(found) is FunctionType else found

    for new, old in ((set_filtered, settrace), (get_given, gettrace)):
        new.__name__ = new.__qualname__ = old.__name__
        setattr(sys, old.__name__, new)
        _undo.append(lambda name=old.__name__, old=old: setattr(sys, name, old))


def remark() -> str:
    """Return what could not be recorded."""
    import gc

    for each in gc.get_objects():
        if type(each) is FunctionType:
            _note_compiled(each.__code__)
    return f"not recorded: {', '.join(_failed[:3])}" if _failed else ""


def _note_compiled(code: Any) -> None:
    """Note code of the workspace that no loader has returned: the program compiled it itself."""
    path = _recorder.Settings.file_of(code)
    if path is None or id(code) in _recorder.plans or id(code) in _originals:
        return
    # A copy of instrumented code has its functions.
    is_copy = any(type(each) is FunctionType for each in code.co_consts)
    if not is_copy and code.co_filename not in _left:
        _omissions.note(f"code that the program compiled itself was not traced: {path}")


def watch_children(note: Any) -> None:
    """Call *note* with the arguments and the environment of each child that is started.

    An audit hook would be called for each `id()` of the program.
    """

    def noted(given: Any, env: Any) -> None:
        try:
            note(given, env)
        except Exception as error:
            _recorder.pass_on(error)

    _children.append(noted)


def _with_note(code: Any) -> Any:
    """Return the code of the module `subprocess` with a call where a child is started."""
    constants = list(code.co_consts)
    for at, each in enumerate(constants):
        if type(each) is not _Code:
            continue
        if each.co_name == "Popen":
            constants[at] = _with_note(each)
        elif each.co_name == "_execute_child" and {"args", "env"} <= set(each.co_varnames):
            constants[at] = _bytecode.call_at_start(each, _children[0], ("args", "env"))
    return code.replace(co_consts=tuple(constants))


_children: list[Any] = []


def end() -> None:
    """Stop tracing."""
    _hooks.silence()
    while _undo:
        _undo.pop()()


# --- code ---------------------------------------------------------------------------------------


def _loaded(code: Any) -> Any:
    """Return code that was loaded as it will run."""
    try:
        _loading.watch_runners(_loaded, _undo)
        _loading.watch_pytest(_loaded, _original, _undo)
        if code.co_name == "<module>" and _children and _is_subprocess(code.co_filename):
            return _with_note(code)
        if _recorder.Settings.file_of(code) is None or id(code) in _originals:
            return code
        readers = _READERS.intersection(code.co_names)
        if readers:
            _left.add(code.co_filename)
            _failed.append(f"{code.co_filename} (it uses {min(readers)}, which reads bytecode)")
            return code
        return _instrumented(code)
    except Exception as error:
        _recorder.pass_on(error)
        return code


def _is_subprocess(name: str) -> bool:
    return name == os.path.join(os.path.dirname(os.__file__), "subprocess.py")


def _original(code: Any) -> Any:
    return _originals[id(code)][1] if id(code) in _originals else code


def _instrumented(code: Any) -> Any:
    plan = _recorder.plan_of(code)
    constants = tuple(
        _instrumented(each) if type(each) is _Code else each for each in code.co_consts
    )
    new = None if plan is None else _with_calls(code, plan, constants)
    if new is None:
        changed = any(map(lambda new, old: new is not old, constants, code.co_consts))
        new = code.replace(co_consts=constants) if changed else code
    else:
        _recorder.set_running(plan, new)
    if new is not code:
        _originals[id(new)] = (new, code)
    return new


def _with_calls(code: Any, plan: Any, constants: Any) -> Any:
    """Return a code object with calls; None for one that stays as it is, which is noted."""
    where = f"{code.co_qualname} in {code.co_filename}"
    if len(code.co_code) > _MOST_BYTES:
        _failed.append(f"{where} (it is too large)")
        return None
    try:
        return _instrumentation.instrumented(code, plan, constants, _hooks.make_hook)
    except _instrumentation.Unsupported:
        _failed.append(f"{where} (its bytecode is not known)")
        return None


# --- the script ---------------------------------------------------------------------------------


def _take_main() -> None:
    """Let the interpreter run a script as it runs a directory: by a finder, which is ours."""
    script = sys.argv[0] if sys.argv else ""
    if not script or script[:1] == "-" or not os.path.isfile(script):
        return
    if _recorder.Settings.file_of(_Named(script)) is None or script.endswith(".pyc"):
        return
    # The interpreter makes the path absolute, and does not normalize all of it.
    short = script[2:] if script.startswith("./") else script
    for each in (script, os.path.join(os.getcwd(), short), os.path.abspath(script)):
        sys.path_importer_cache[each] = _Finder(each)


class _Named:
    def __init__(self, name: str) -> None:
        self.co_filename = name


class _Finder:
    """Finds the script, and runs it where it should return its code."""

    def __init__(self, script: str) -> None:
        self._script = script
        self._main = sys.modules["__main__"]
        self._loaded = set(sys.modules)
        self._search = list(sys.path)

    def find_spec(self, name: str, target: Any = None) -> Any:
        if name != "__main__":
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self, origin=self._script)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> None:
        return None

    def get_code(self, name: str) -> Any:
        script, main = self._script, self._main
        self._restore()
        try:
            with open(script, "rb") as file:
                source = file.read()
            code = _loaded(compile(source, script, "exec", 0, True))
            exec(code, main.__dict__)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            _report(error)
            raise SystemExit(1) from None
        raise SystemExit(0)

    def _restore(self) -> None:
        """Make everything as it is when the interpreter runs the script itself."""
        script, main = self._script, self._main
        for path, finder in list(sys.path_importer_cache.items()):
            if type(finder) is _Finder:
                del sys.path_importer_cache[path]
        for name in set(sys.modules) - self._loaded:
            module = sys.modules.pop(name)
            parent, _, child = name.rpartition(".")
            if parent and vars(sys.modules.get(parent, sys)).get(child) is module:
                delattr(sys.modules[parent], child)
        sys.modules["__main__"] = main
        flags: Any = sys.flags
        search = [] if flags.safe_path else [os.path.dirname(os.path.realpath(script))]
        sys.path[:] = search + self._search
        external: Any = sys.modules["_frozen_importlib_external"]
        vars(main).update(
            __file__=script,
            __cached__=None,
            __loader__=external.SourceFileLoader("__main__", script),
        )


def _report(error: Any) -> None:
    """Do what the interpreter does with an exception that a script does not handle."""
    trace = error.__traceback__.tb_next if error.__traceback__ is not None else None
    error.__traceback__ = trace
    given: Any = sys
    given.last_type, given.last_value, given.last_traceback = type(error), error, trace
    if sys.version_info >= (3, 12):
        given.last_exc = error
    sys.excepthook(type(error), error, trace)
