"""Starts debugpy's server in the interpreter that will run the program; a script, never imported.

    PYTHON … boot_probe.py DEBUGPY_PACKAGE CACHE [debugpy's own arguments]

It does what `python DEBUGPY_PACKAGE` does, without what makes that slow: reading the metadata of
every installed package twice, a pause of 100 ms, importing HTTP and XML for a console that nobody
opens, and compiling debugpy's 120 files anew in an interpreter whose bytecode nobody kept (CACHE is
a directory of ours for it, or empty). Child processes get the same: debugpy would run its pydevd.py
there as a script, 3,900 lines compiled anew by each child. Works in every Python from 3.8 on and
needs nothing of this package.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

#: words of a child's command line, for `run_child`
_PACKAGE = "--freezeframe-package="
_CACHE = "--freezeframe-cache="
#: what debugpy 1.8 imports and, spoken to over DAP, never calls; with the names that it looks for
_UNUSED: dict[str, tuple[str, ...]] = {
    "http": (),
    "http.server": ("BaseHTTPRequestHandler",),
    "importlib.metadata": (),
    "xmlrpc": (),
    "xmlrpc.client": ("ServerProxy", "Marshaller", "Server"),
    "xmlrpc.server": ("SimpleXMLRPCServer",),
}
#: the files that held a secret of ours
_secrets: list[str] = []


def main() -> None:
    package, cache = sys.argv[1:3]
    del sys.argv[1:3]
    # The directory of this script is no part of the program's path.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    # The package first: it prepares the way for pydevd.
    names = ("debugpy", "debugpy.server.cli")
    cli = _load(os.path.dirname(package), cache, package, names)
    _hurry(_keep_the_secret, _skip_descriptions, _skip_pause, _hide_this_file)
    _hurry(_end_without_a_record, _stop_in_templates, _fork_when_refused)
    _hurry(lambda: _lead_children(package, cache))
    _hurry(lambda: _beside("plain_probe.py")["install"](cli))
    _leave_the_stage()
    cli.main()


def _leave_the_stage() -> None:
    """Make room for the program: `-m` runs a module in the names of `__main__`, which was us."""
    stage: Any = type(sys)("__main__")
    if "__annotations__" in globals():
        stage.__annotations__ = {}
    sys.modules["__main__"] = stage


def run_child(words: list[str], run_alone: Callable[[], None]) -> None:
    """Be what debugpy's pydevd.py is in a child process, until the child's own program ends.

    *run_alone* makes the process what it was to be, where the debugger has left before it came.
    """
    package = next(word for word in words if word.startswith(_PACKAGE))
    cache = next(word for word in words if word.startswith(_CACHE))
    words.remove(package)
    words.remove(cache)
    pydevd = prepare_child(package[len(_PACKAGE) :], cache[len(_CACHE) :])
    _hurry(lambda: _when_refused(pydevd, "start_client", run_alone))
    words[0] = pydevd.__file__
    # The directory of the script, which is debugpy's where it runs its own.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = os.path.dirname(pydevd.__file__)
    # pydevd takes its own module for the main one, to put the program's in that place.
    sys.modules["__main__"] = pydevd
    pydevd.main()


def prepare_child(package: str, cache: str) -> Any:
    """Return pydevd, imported in a child process and ready to connect."""
    # It is set for the program, but may not have reached a child: see debugpy.py.
    quiet = "PYDEVD_DISABLE_FILE_VALIDATION"
    inherited = quiet in os.environ
    os.environ.setdefault(quiet, "1")
    try:
        pydevd = _load(os.path.join(package, "_vendored", "pydevd"), cache, package, ("pydevd",))
    finally:
        if not inherited:
            del os.environ[quiet]
    _hurry(_keep_the_secret, _skip_pause, _hide_from_pydevd, lambda: _lead_children(package, cache))
    _hurry(_run_when_alone, _stop_in_templates, _fork_when_refused)
    # What `python -c` was to run follows it.
    _hurry(lambda: _when_refused(pydevd, "settrace", _forget))
    return pydevd


def prepare_running(package: str, cache: str) -> Any:
    """Return debugpy, imported in a program that runs already and ready to connect."""
    names = ("debugpy.server", "debugpy")
    debugpy = _load(os.path.dirname(package), cache, package, names, alone=False)
    _hurry(
        _keep_the_secret, _skip_descriptions, _skip_pause, lambda: _lead_children(package, cache)
    )
    _hurry(_stop_in_templates, _fork_when_refused)
    # Of a program that was left: its children would call the port of that time.
    sys.modules["pydevd"].SetupHolder.setup = None
    return debugpy


def _hurry(*cures: Callable[[], None]) -> None:
    for cure in cures:
        try:
            cure()
        except Exception:
            # Slower, or with one frame more at the bottom of the stack; nothing worse.
            pass


def _load(
    directory: str, cache: str, package: str, names: tuple[str, ...], *, alone: bool = True
) -> Any:
    """Import *names* from *directory*, which is *package*'s or within it; return the last.

    *alone*: no other thread could import anything meanwhile.
    """
    restore = _keep_bytecode(package, cache) if cache else None
    stand_ins = _stand_in() if alone else []
    sys.path.insert(0, directory)
    try:
        return [importlib.import_module(name) for name in names][-1]
    finally:
        sys.path.remove(directory)
        # The program's own imports of these get the real ones.
        for name in stand_ins:
            sys.modules.pop(name, None)
        if restore is not None:
            restore()


def _stand_in() -> list[str]:
    """Put empty modules in the place of those that would be imported in vain; return their names.

    A third of debugpy's start goes into them.
    """
    made = []
    if "django" not in sys.modules:
        # It would be imported wherever it is installed, to be asked for its version.
        sys.modules["django"] = None  # type: ignore[assignment]
        made.append("django")
    # With GEVENT_SUPPORT pydevd imports all of these anew, to have copies that nobody patches.
    unused = {} if os.environ.get("GEVENT_SUPPORT") else _UNUSED
    for name, attributes in unused.items():
        if name not in sys.modules:
            module: Any = type(sys)(name)
            module.__dict__.update(dict.fromkeys(attributes, object))
            sys.modules[name] = module
            made.append(name)
    return made


def _keep_bytecode(package: str, cache: str) -> Callable[[], None] | None:
    """Keep the bytecode of *package*, and of nothing else, below *cache*; return how to stop that.

    Does nothing when there is bytecode beside the sources already.
    """
    external: Any = sys.modules["_frozen_importlib_external"]
    place, store = external.cache_from_source, external.SourceFileLoader.set_data
    if os.path.exists(place(os.path.join(package, "__init__.py"))):
        return None
    inside = package + os.sep
    ours = os.path.join(cache, sys.implementation.cache_tag or "python")
    unwilling = sys.dont_write_bytecode

    def cache_from_source(path: Any, *arguments: Any, **named: Any) -> Any:
        if str(path).startswith(inside):
            return os.path.join(ours, str(path)[len(inside) :] + "c")
        return place(path, *arguments, **named)

    def set_data(self: Any, path: Any, data: Any, **named: Any) -> Any:
        if unwilling and not str(path).startswith(ours):
            return None
        return store(self, path, data, **named)

    def restore() -> None:
        external.cache_from_source = place
        external.SourceFileLoader.set_data = store
        sys.dont_write_bytecode = unwilling

    external.cache_from_source = cache_from_source
    external.SourceFileLoader.set_data = set_data
    sys.dont_write_bytecode = False
    return restore


def _skip_descriptions() -> None:
    log: Any = sys.modules["debugpy.common.log"]
    log.describe_environment = lambda *_: None
    # It formats the traceback of a SystemExit that nobody reads, and a step over the program's
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
            # pydevd's threads have been started; what they are asked is queued.
            return

    def initialize_network(self: Any, *arguments: Any, **named: Any) -> Any:
        time = pydevd.time
        pydevd.time = Impatient(time)
        try:
            return connect(self, *arguments, **named)
        finally:
            pydevd.time = time

    pydevd.PyDB.initialize_network = initialize_network


def _keep_the_secret() -> None:
    """Have pydevd hand on the name of the file that holds the secret, and tell us what is in it.

    It puts what it was given as the secret on the command line of each child, where every user of
    the machine can read it.
    """
    kind: Any = importlib.import_module("pydevd")._Authentication
    slot: Any = kind.__dict__["client_access_token"]
    known: dict[str, str] = {}

    def get(self: Any) -> Any:
        word = slot.__get__(self, kind)
        return known.get(word, word)

    def put(self: Any, word: Any) -> None:
        if isinstance(word, str) and word.startswith("@"):
            _secrets.append(word[1:])
            # At once: a process may leave its root directory, or its user.
            try:
                with open(word[1:], encoding="ascii") as file:
                    known[word] = file.read()
            except OSError:
                pass
        slot.__set__(self, word)

    if not isinstance(slot, property):  # a program that is joined again has it
        kind.client_access_token = property(get, put)


def _run_when_alone() -> None:
    """A child whose debugger left before it said anything: pydevd would wait for it for ever."""
    pydevd: Any = sys.modules["pydevd"]
    dispose = pydevd.PyDB.dispose_and_kill_all_pydevd_threads

    def dispose_and_kill_all_pydevd_threads(self: Any, *arguments: Any, **named: Any) -> Any:
        try:
            return dispose(self, *arguments, **named)
        finally:
            self.ready_to_run = True

    pydevd.PyDB.dispose_and_kill_all_pydevd_threads = dispose_and_kill_all_pydevd_threads


def _fork_when_refused() -> None:
    """A process that is forked while the debugger leaves goes on without it, and so does fork."""
    pydevd: Any = sys.modules["pydevd"]
    _when_refused(pydevd, "settrace_forked", _forget)


def _forget() -> None:
    sys.modules["_pydevd_bundle.pydevd_constants"].GlobalDebuggerHolder.global_dbg = None


def _when_refused(pydevd: Any, name: str, instead: Callable[[], None]) -> None:
    """Have pydevd's function *name* do something else, without a word, where nobody listens."""
    function = getattr(pydevd, name)
    log = pydevd.pydev_log
    if os.path.basename(function.__code__.co_filename) == os.path.basename(__file__):
        return  # a program that is joined again

    def connect(*arguments: Any, **named: Any) -> Any:
        tell, log.exception = log.exception, lambda *_, **__: None
        try:
            return function(*arguments, **named)
        except OSError:
            instead()
        finally:
            log.exception = tell

    setattr(pydevd, name, connect)


def _lead_children(package: str, cache: str) -> None:
    """Have child processes come here instead of to debugpy's pydevd.py."""
    handling: Any = importlib.import_module("_pydevd_bundle.pydevd_command_line_handling")
    monkey: Any = importlib.import_module("_pydev_bundle.pydev_monkey")
    here = os.path.abspath(__file__)
    script = os.path.join(os.path.dirname(here), "child_probe", "pydevd.py")
    to_words, to_code = handling.setup_to_argv, monkey._get_python_c_args
    if os.path.basename(to_words.__code__.co_filename) == os.path.basename(here):
        return  # a program that is joined again
    # What `python -c` runs; debugpy's own import of pydevd comes after it and finds it done.
    first = "import sys; "
    ours = (
        f"{first}names = dict(__name__='freezeframe_boot', __file__={here!r}); "
        f"exec(compile(open({here!r}, 'rb').read(), {here!r}, 'exec'), names); "
        f"names['prepare_child']({package!r}, {cache!r}); del names; "
    )

    def setup_to_argv(*arguments: Any, **named: Any) -> Any:
        words = to_words(*arguments, **named)
        return [script, _PACKAGE + package, _CACHE + cache, *words[1:]]

    def _get_python_c_args(host: Any, port: Any, code: Any, *arguments: Any) -> Any:
        text = code.decode() if isinstance(code, bytes) else code
        future, rest = "", text
        if "__future__" in text:
            future, rest = monkey._separate_future_imports(text)
        setup = to_code(host, port, rest, *arguments)
        setup = setup[: len(setup) - len(rest)].replace(first, ours, 1)
        alone = _tell_alone(here, arguments[-1])
        alone = f"try:\n  {alone}\n except Exception:\n  pass\n"
        setup = f"try:\n {setup}\nexcept Exception:\n {alone}"
        alone = f"if True:\n {alone}"
        # In names of its own, and only where debugpy runs; in words that every Python reads.
        words = (
            f"{future}eval(compile({setup!r} if __import__('sys').version_info >= (3, 8) "
            f"else {alone!r}, '<string>', 'exec'), {{}}); {rest}"
        )
        return words.encode() if isinstance(code, bytes) else words

    handling.setup_to_argv = setup_to_argv
    monkey._get_python_c_args = _get_python_c_args
    _hurry(lambda: _reach_others(monkey))


def _tell_alone(here: str, setup: Any) -> str:
    """Return a line that has a Python say that it is not followed: see `unfollowed_probe.py`."""
    file = os.path.join(os.path.dirname(here), "unfollowed_probe.py")
    secret = str((setup or {}).get("client-access-token") or "")
    if not (secret.startswith("@") and os.path.exists(file)):
        return "pass"
    return (
        f"names = {{}}; file = open({file!r}, 'rb'); "
        f"eval(compile(file.read(), {file!r}, 'exec'), names); file.close(); "
        f"names['tell']({secret[1:]!r}, names['of_code']())"
    )


def _reach_others(monkey: Any) -> None:
    _beside("environment_probe.py")["install"](monkey)
    _beside("greenlets_probe.py")["install"](_secrets)


def _beside(name: str) -> dict[str, Any]:
    """Return the names of a file of ours, whose frames are pydevd's own to it."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    names: dict[str, Any] = {"__name__": f"freezeframe_{name[:-9]}", "__file__": path}
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), names)
    table: Any = importlib.import_module("_pydevd_bundle.pydevd_dont_trace_files")
    table.DONT_TRACE[name] = table.PYDEV_FILE
    return names


def _stop_in_templates() -> None:
    """pydevd wants to be told beforehand whether a program uses Jinja or Django.

    It is done here, because breakpoints may be set before our probe is in the process.
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
            kinds = _beside("templates_probe.py")["kinds"](file)
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
    """Where debugpy's server is not: this file's frames are pydevd's own, and nobody's to see."""
    table: Any = sys.modules["_pydevd_bundle.pydevd_dont_trace_files"]
    table.DONT_TRACE[os.path.basename(__file__)] = table.PYDEV_FILE


def _end_without_a_record() -> None:
    """A program that ends by SystemExit: debugpy formats a traceback for its own log.

    It does so in files of the standard library that are traced, so that a step over the last line
    of the program would stop in them.
    """
    log: Any = sys.modules["debugpy.common.log"]

    def reraise_exception(*_arguments: Any, **_named: Any) -> None:
        raise  # always called while an exception is handled

    log.reraise_exception = reraise_exception


if __name__ == "__main__":
    main()
