"""Starts debugpy's server in the interpreter that will run the program; a script, never imported.

    PYTHON … bootstrap_agent.py DEBUGPY_PACKAGE CACHE [debugpy's own arguments]

Does what `python DEBUGPY_PACKAGE` does, without its slow parts: reading the metadata of every
installed package twice, a pause of 100 ms, importing HTTP and XML for an unused console, and
compiling debugpy's 120 files again in an interpreter without bytecode for them (CACHE is a
directory for that bytecode, or empty). Child processes get the same: debugpy would run its
pydevd.py there as a script, 3,900 lines compiled again by each child. Works in every Python from
3.8 on and imports nothing of this package.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: arguments on a child's command line, for `run_child`
_PACKAGE = "--freezeframe-package="
_CACHE = "--freezeframe-cache="
#: modules that debugpy 1.8 imports and never calls over DAP; with the names that it looks up
_UNUSED: dict[str, tuple[str, ...]] = {
    "http": (),
    "http.server": ("BaseHTTPRequestHandler",),
    "importlib.metadata": (),
    "xmlrpc": (),
    "xmlrpc.client": ("ServerProxy", "Marshaller", "Server"),
    "xmlrpc.server": ("SimpleXMLRPCServer",),
}
_GEVENT = "GEVENT_SUPPORT"
_COMPILED_MONITORING = "_pydevd_sys_monitoring._pydevd_sys_monitoring_cython"
#: the files that contained the secret
_secrets: list[str] = []


def main() -> None:
    package, cache = sys.argv[1:3]
    del sys.argv[1:3]
    # The directory of this script must not be in the program's path.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    # The package first: it sets up the search path for pydevd.
    names = ("debugpy", "debugpy.server.cli")
    cli = _load(os.path.dirname(package), cache, package, names)
    _try_each(_hide_secret, _silence_log, _skip_descriptions, _skip_pause, _hide_this_file)
    _try_each(_end_without_a_record, _stop_in_templates, _fork_when_refused, _move_breakpoints)
    _try_each(lambda: _redirect_children(package, cache))
    _try_each(lambda: _load_agent("run_program_agent.py")["install"](cli))
    _restore_main_module()
    cli.main()


def _restore_main_module() -> None:
    """Clear `__main__`, which is this script: `-m` runs a module in its namespace."""
    stage: Any = type(sys)("__main__")
    if "__annotations__" in globals():
        stage.__annotations__ = {}
    sys.modules["__main__"] = stage


def run_child(args: list[str], run_alone: Callable[[], None]) -> None:
    """Do what debugpy's pydevd.py does in a child process, until the child's program ends.

    *run_alone* runs the child's original program, where the debugger has detached before.
    """
    package = next(arg for arg in args if arg.startswith(_PACKAGE))
    cache = next(arg for arg in args if arg.startswith(_CACHE))
    args.remove(package)
    args.remove(cache)
    pydevd = prepare_child(package[len(_PACKAGE) :], cache[len(_CACHE) :])
    _try_each(lambda: _when_refused(pydevd, "start_client", run_alone))
    args[0] = pydevd.__file__
    # The directory of the script, which is debugpy's where it runs its own pydevd.py.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = os.path.dirname(pydevd.__file__)
    # pydevd takes its own module for `__main__`, and replaces it by the program's.
    sys.modules["__main__"] = pydevd
    pydevd.main()


def prepare_child(package: str, cache: str) -> Any:
    """Return pydevd, imported in a child process and ready to connect."""
    # Set for the program, but may not have reached a child: see debugpy/__init__.py.
    variable = "PYDEVD_DISABLE_FILE_VALIDATION"
    inherited = variable in os.environ
    os.environ.setdefault(variable, "1")
    try:
        pydevd = _load(os.path.join(package, "_vendored", "pydevd"), cache, package, ("pydevd",))
    finally:
        if not inherited:
            del os.environ[variable]
    _try_each(_hide_secret, _silence_log, _skip_pause, _hide_from_pydevd)
    _try_each(lambda: _redirect_children(package, cache))
    _try_each(_run_when_alone, _stop_in_templates, _fork_when_refused, _move_breakpoints)
    _try_each(lambda: _load_agent("run_program_agent.py")["enter_libraries"]())
    # The code of `python -c` follows.
    _try_each(lambda: _when_refused(pydevd, "settrace", _forget))
    _try_each(lambda: _load_agent("code_agent.py")["show_alone"]())
    return pydevd


def prepare_running(package: str, cache: str) -> Any:
    """Return debugpy, imported in a running program and ready to connect."""
    names = ("debugpy.server", "debugpy")
    debugpy = _load(os.path.dirname(package), cache, package, names, alone=False)
    _try_each(_hide_secret, _silence_log, _skip_descriptions, _skip_pause)
    _try_each(lambda: _redirect_children(package, cache))
    _try_each(_stop_in_templates, _fork_when_refused, _move_breakpoints)
    # Left by an earlier debugger: children would connect to its port.
    sys.modules["pydevd"].SetupHolder.setup = None
    return debugpy


def _try_each(*steps: Callable[[], None]) -> None:
    for step in steps:
        try:
            step()
        except Exception:
            # Slower, or with one more frame at the bottom of the stack; nothing worse.
            pass


def _load(
    directory: str, cache: str, package: str, names: tuple[str, ...], *, alone: bool = True
) -> Any:
    """Import *names* from *directory*, which is *package* or inside it; return the last.

    *alone*: no other thread can import anything meanwhile.
    """
    restore = _keep_bytecode(package, cache) if cache else None
    greenlets = _expect_greenlets()
    stubs = _install_stubs() if alone else []
    if _COMPILED_MONITORING not in sys.modules:
        # Only the callbacks that are written in Python pass lines without pydevd's work
        # (`monitoring_agent.py`): a condition that does not hold costs a quarter there.
        sys.modules[_COMPILED_MONITORING] = None  # type: ignore[assignment]
        stubs.append(_COMPILED_MONITORING)
    sys.path.insert(0, directory)
    try:
        return [importlib.import_module(name) for name in names][-1]
    finally:
        if greenlets:
            del os.environ[_GEVENT]
        sys.path.remove(directory)
        # The program's imports of these modules get the real ones.
        for name in stubs:
            sys.modules.pop(name, None)
        if restore is not None:
            restore()


def _expect_greenlets() -> bool:
    """Make pydevd prepare for gevent if the program will use it; return whether it does."""
    if _GEVENT in os.environ or "pydevd" in sys.modules:
        return False
    try:
        if not _names_of("gevent_use_agent.py")["is_used"](sys.argv):
            return False
    except Exception:
        return False
    os.environ[_GEVENT] = "True"
    if sys.version_info >= (3, 12):
        # pydevd would import gevent before the program does, to trace each greenlet; not needed
        # with sys.monitoring.
        name = "_pydevd_bundle.pydevd_gevent_integration"
        module: Any = type(sys)(name)
        module.enable_gevent_integration = module.log_gevent_debug_info = lambda: None
        sys.modules[name] = module
    return True


def _install_stubs() -> list[str]:
    """Replace modules that would be imported for nothing by stubs; return their names.

    They take a third of debugpy's start time.
    """
    made = []
    if "django" not in sys.modules:
        # It would be imported wherever it is installed, only to read its version.
        sys.modules["django"] = None  # type: ignore[assignment]
        made.append("django")
    # With GEVENT_SUPPORT pydevd imports all of these again, to have unpatched copies.
    unused = {} if os.environ.get(_GEVENT) else _UNUSED
    for name, attributes in unused.items():
        if name not in sys.modules:
            module: Any = type(sys)(name)
            module.__dict__.update(dict.fromkeys(attributes, object))
            sys.modules[name] = module
            made.append(name)
    return made


def _keep_bytecode(package: str, cache: str) -> Callable[[], None] | None:
    """Keep the bytecode of *package*, and of nothing else, below *cache*; return how to undo that.

    Does nothing if the sources have bytecode next to them.
    """
    external: Any = sys.modules["_frozen_importlib_external"]
    cache_path, store = external.cache_from_source, external.SourceFileLoader.set_data
    if os.path.exists(cache_path(os.path.join(package, "__init__.py"))):
        return None
    inside = package + os.sep
    directory = os.path.join(cache, sys.implementation.cache_tag or "python")
    unwilling = sys.dont_write_bytecode

    def cache_from_source(path: Any, *arguments: Any, **named: Any) -> Any:
        if str(path).startswith(inside):
            return os.path.join(directory, str(path)[len(inside) :] + "c")
        return cache_path(path, *arguments, **named)

    def set_data(self: Any, path: Any, data: Any, **named: Any) -> Any:
        if unwilling and not str(path).startswith(directory):
            return None
        return store(self, path, data, **named)

    def restore() -> None:
        external.cache_from_source = cache_path
        external.SourceFileLoader.set_data = store
        sys.dont_write_bytecode = unwilling

    external.cache_from_source = cache_from_source
    external.SourceFileLoader.set_data = set_data
    sys.dont_write_bytecode = False
    return restore


def _silence_log() -> None:
    """Keep pydevd's log out of the program's stderr, also in forked processes.

    pydevd writes warnings and the errors of its own threads there, at the end of the program too.
    """
    constants: Any = importlib.import_module("_pydevd_bundle.pydevd_constants")
    if not constants.DebugInfoHolder.PYDEVD_DEBUG_FILE:
        log: Any = importlib.import_module("_pydev_bundle.pydev_log")
        # The stream that it would open is a null stream until then.
        log.initialize_debug_stream = lambda reinitialize=False: None


def _skip_descriptions() -> None:
    log: Any = sys.modules["debugpy.common.log"]
    log.describe_environment = lambda *_: None
    # debugpy formats the traceback of a SystemExit that nobody reads, and a step over the program's
    # last line ends in the module that does.
    log._exception = lambda *_, **__: None


def _skip_pause() -> None:
    pydevd: Any = sys.modules["pydevd"]
    connect = pydevd.PyDB.initialize_network

    class Impatient:
        def __init__(self, time: Any) -> None:
            self._time = time

        def __getattr__(self, name: str) -> Any:
            return getattr(self._time, name)

        def sleep(self, _seconds: float) -> None:
            # pydevd's threads have been started; requests to them are queued.
            return

    def initialize_network(self: Any, *arguments: Any, **named: Any) -> Any:
        time = pydevd.time
        pydevd.time = Impatient(time)
        try:
            return connect(self, *arguments, **named)
        finally:
            pydevd.time = time

    pydevd.PyDB.initialize_network = initialize_network


def _hide_secret() -> None:
    """Make pydevd pass on the name of the secret's file, and use the file's contents itself.

    pydevd puts the secret that it was given on the command line of each child, where every user of
    the machine can read it.
    """
    kind: Any = importlib.import_module("pydevd")._Authentication
    slot: Any = kind.__dict__["client_access_token"]
    known: dict[str, str] = {}

    def get(self: Any) -> Any:
        value = slot.__get__(self, kind)
        return known.get(value, value)

    def put(self: Any, value: Any) -> None:
        if isinstance(value, str) and value.startswith("@"):
            _secrets.append(value[1:])
            # At once: a process may change its root directory, or its user.
            try:
                with open(value[1:], encoding="ascii") as file:
                    known[value] = file.read()
            except OSError:
                pass
        slot.__set__(self, value)

    if not isinstance(slot, property):  # set already in a program that is attached to again
        kind.client_access_token = property(get, put)


def _run_when_alone() -> None:
    """Release a child whose debugger detached early: pydevd would wait for a message for ever."""
    pydevd: Any = sys.modules["pydevd"]
    dispose = pydevd.PyDB.dispose_and_kill_all_pydevd_threads

    def dispose_and_kill_all_pydevd_threads(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return dispose(self, *arguments, **named)
        finally:
            self.ready_to_run = True

    pydevd.PyDB.dispose_and_kill_all_pydevd_threads = dispose_and_kill_all_pydevd_threads


def _fork_when_refused() -> None:
    """Let a process forked during a detach run without the debugger, and let fork return."""
    pydevd: Any = sys.modules["pydevd"]
    _when_refused(pydevd, "settrace_forked", _forget)


def _move_breakpoints() -> None:
    _load_agent("moved_lines_agent.py")["install"]()


def _forget() -> None:
    sys.modules["_pydevd_bundle.pydevd_constants"].GlobalDebuggerHolder.global_dbg = None


def _when_refused(pydevd: Any, name: str, instead: Callable[[], None]) -> None:
    """Make pydevd's function *name* call *instead*, silently, where the connection is refused."""
    function = getattr(pydevd, name)
    log = pydevd.pydev_log
    if os.path.basename(function.__code__.co_filename) == os.path.basename(__file__):
        return  # a program that is attached to again

    def connect(*arguments: Any, **named: Any) -> Any:
        report, log.exception = log.exception, lambda *_, **__: None
        try:
            return function(*arguments, **named)
        except OSError:
            instead()
        finally:
            log.exception = report

    setattr(pydevd, name, connect)


def _redirect_children(package: str, cache: str) -> None:
    """Make child processes run our script instead of debugpy's pydevd.py."""
    handling: Any = importlib.import_module("_pydevd_bundle.pydevd_command_line_handling")
    monkey: Any = importlib.import_module("_pydev_bundle.pydev_monkey")
    here = os.path.abspath(__file__)
    script = os.path.join(os.path.dirname(here), "child_agent", "pydevd.py")
    to_args, to_code = handling.setup_to_argv, monkey._get_python_c_args
    if os.path.basename(to_args.__code__.co_filename) == os.path.basename(here):
        return  # a program that is attached to again
    # Runs first in `python -c`; debugpy's own import of pydevd comes after it and finds it done.
    first = "import sys; "
    prefix = (
        f"{first}names = dict(__name__='freezeframe_boot', __file__={here!r}); "
        f"exec(compile(open({here!r}, 'rb').read(), {here!r}, 'exec'), names); "
        f"names['prepare_child']({package!r}, {cache!r}); del names; "
    )

    def setup_to_argv(*arguments: Any, **named: Any) -> Any:
        args = to_args(*arguments, **named)
        return [script, _PACKAGE + package, _CACHE + cache, *args[1:]]

    def _get_python_c_args(host: Any, port: Any, code: Any, *arguments: Any) -> Any:
        code_names = _load_agent("code_agent.py")
        text = code.decode() if isinstance(code, bytes) else code
        future, rest = "", text
        if "__future__" in text:
            future, rest = code_names["split_behind_future"](text)
        setup = to_code(host, port, rest, *arguments)
        setup = setup[: len(setup) - len(rest)].replace(first, prefix, 1)
        alone = _report_unfollowed(here, arguments[-1])
        alone = f"try:\n  {alone}\n except Exception:\n  pass\n"
        setup = f"try:\n {setup}\nexcept Exception:\n {alone}"
        alone = f"if True:\n {alone}"
        # In a separate namespace, and only where debugpy runs; in syntax that every Python reads.
        patched = (
            f"{future}{code_names['BEGINS']}{setup!r} if __import__('sys').version_info >= (3, 8) "
            f"else {alone!r}{code_names['ENDS']}{rest}"
        )
        return patched.encode() if isinstance(code, bytes) else patched

    handling.setup_to_argv = setup_to_argv
    monkey._get_python_c_args = _get_python_c_args
    _try_each(lambda: _install_other_agents(monkey))


def _report_unfollowed(here: str, setup: Any) -> str:
    """Return code that makes a Python report that it is not followed: see
    `unfollowed_child_agent.py`."""
    file = os.path.join(os.path.dirname(here), "unfollowed_child_agent.py")
    secret = str((setup or {}).get("client-access-token") or "")
    if not (secret.startswith("@") and os.path.exists(file)):
        return "pass"
    return (
        f"names = {{}}; file = open({file!r}, 'rb'); "
        f"eval(compile(file.read(), {file!r}, 'exec'), names); file.close(); "
        f"names['report']({secret[1:]!r}, names['of_code']())"
    )


def _install_other_agents(monkey: Any) -> None:
    _load_agent("child_environment_agent.py")["install"](monkey)
    _load_agent("greenlets_agent.py")["install"](_secrets)
    _load_agent("connection_agent.py")["install"](_secrets)


def _load_agent(name: str) -> dict[str, Any]:
    """Return the namespace of another agent file, whose frames pydevd treats as its own."""
    table: Any = importlib.import_module("_pydevd_bundle.pydevd_dont_trace_files")
    table.DONT_TRACE[name] = table.PYDEV_FILE
    return _names_of(name)


def _names_of(name: str) -> dict[str, Any]:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    names: dict[str, Any] = {"__name__": f"freezeframe_{name[:-9]}", "__file__": path}
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), names)
    return names


def _stop_in_templates() -> None:
    """Register breakpoints in templates: pydevd must know beforehand if a program uses Jinja or
    Django.

    Done here, because breakpoints may be set before the agent is in the process.
    """
    api: Any = importlib.import_module("_pydevd_bundle.pydevd_api").PyDevdAPI
    add = api.add_breakpoint
    if hasattr(add, "freezeframe"):
        return

    def add_breakpoint(
        self: Any, debugger: Any, file: str, kind: str, *more: Any, **named: Any
    ) -> Any:
        kinds: tuple[str, ...] = ()
        if kind == "python-line" and not file.endswith(".py"):
            kinds = _load_agent("templates_agent.py")["kinds"](file)
        for each in kinds or (kind,):
            added = add(self, debugger, file, each, *more, **named)
        return added

    add_breakpoint.freezeframe = True  # type: ignore[attr-defined]
    api.add_breakpoint = add_breakpoint


def _hide_this_file() -> None:
    api: Any = sys.modules["debugpy.server.api"]
    settrace = api._settrace
    hidden = os.path.abspath(__file__)

    def _settrace(*arguments: Any, **named: Any) -> Any:
        patterns = named.get("dont_trace_start_patterns")
        if patterns is not None:
            named["dont_trace_start_patterns"] = (*patterns, hidden)
        return settrace(*arguments, **named)

    api._settrace = _settrace


def _hide_from_pydevd() -> None:
    """Hide this file's frames as pydevd's own, where debugpy's server is not loaded."""
    table: Any = sys.modules["_pydevd_bundle.pydevd_dont_trace_files"]
    table.DONT_TRACE[os.path.basename(__file__)] = table.PYDEV_FILE


def _end_without_a_record() -> None:
    """Skip the traceback that debugpy formats for its log when a program ends by SystemExit.

    debugpy formats it in traced files of the standard library, so that a step over the last line of
    the program would stop in them.
    """
    log: Any = sys.modules["debugpy.common.log"]

    def reraise_exception(*_arguments: Any, **_named: Any) -> None:
        raise  # always called while an exception is handled

    log.reraise_exception = reraise_exception


if __name__ == "__main__":
    main()
