"""pdb on descriptors of its own; runs as the program's interpreter's main script.

    PYTHON main_probe.py READ WRITE TEXT_PROBE script|module NAME [the program's arguments]

READ and WRITE are descriptors, so standard input, output and error are the program's alone. What
pdb prints for people stays as it is; what is read by a program are commands that begin with `ff_`
and take and print JSON, and a line `@stop …` at every stop.

Nothing of this package can be imported here, and nothing stays importable that the program did
not bring itself.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    version = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"freezeframe needs Python 3.11 or later for this, and {sys.executable} is {version}")
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import contextlib
import io
import json
import os
import pdb
import runpy
import signal
import threading
import types
from typing import Any


def load(name: str, path: str) -> Any:
    """Make a module of one of our files, under a name that no program uses."""
    module = sys.modules[f"_freezeframe_{name}"] = types.ModuleType(f"_freezeframe_{name}")
    module.__file__ = path
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


def beside(name: str) -> str:
    return os.path.join(os.path.dirname(__file__), name)


for _name in ("objects", "shapes", "assigning"):
    load(_name, os.path.join(os.path.dirname(sys.argv[3]), f"{_name}_probe.py"))
load("text", sys.argv[3])
_names = load("names", os.path.join(os.path.dirname(sys.argv[3]), "names_probe.py"))
load("loaded", os.path.join(os.path.dirname(sys.argv[3]), "loaded_probe.py"))
load("exceptions", os.path.join(os.path.dirname(sys.argv[3]), "exceptions_probe.py"))
_looking = load("looking", beside("looking_probe.py"))
_answers = load("answers", beside("answers_probe.py"))
_pipes = load("pipes", beside("pipes_probe.py"))
_OURS = _looking.OURS
_QUIET = (StopIteration, StopAsyncIteration, GeneratorExit)


class Unstuck(BaseException):
    """What was evaluated took too long. `text_probe.py` knows it by this name."""


class Debugger(pdb.Pdb):
    """pdb, that steps by lines, keeps threads apart and is never alone with its terminal."""

    def __init__(self, read: int, write: int) -> None:
        self.pipes = _pipes.Pipes(read, write)
        stdin, stdout = self.pipes.stdin, self.pipes.stdout
        super().__init__(stdin=stdin, stdout=stdout, nosigint=True, readrc=False)
        self.prompt = "(Pdb) "
        self.lock = threading.RLock()
        self.mode: str | None = None
        self.from_frame: Any = None
        self.from_thread = 0
        self.last_line = 0
        self.landing: Any = None
        self.returned: Any = None
        self.entered: list[Any] = []
        #: frame and instruction that raised last: a return from there is none
        self.raising: tuple[int, int] | None = None
        self.functions: dict[str, str] = {}
        self.last_function = 0
        #: code → breakpoints on functions that mean it
        self.meant: dict[Any, list[str]] = {}
        self.filters: dict[str, list[str]] = {}
        self.at_prompt = False
        #: threads that stand, or are about to
        self.halting: set[int] = set()
        self.evaluating = False
        self.frames: list[tuple[Any, int]] = []
        self.kept: dict[tuple[int, int, str], Any] = {}
        self.thrown: Any = None
        self.real: dict[str, str] = {}

    # --- files: one file has one name, whatever links lead to it

    def canonic(self, filename: str) -> str:
        if filename.startswith("<") and filename.endswith(">"):
            return filename
        found = self.real.get(filename)
        if found is None:
            found = self.real[filename] = os.path.realpath(filename)
        return found

    # --- stepping: by lines, in one thread

    def trace_dispatch(self, frame: Any, event: str, arg: Any) -> Any:
        # Python 3.12 tells the line again on which its opcodes begin to be told.
        # Where an exception arrives, the first opcodes belong to no line.
        arrived = event == "line" or (event == "opcode" and frame.f_lineno is not None)
        if frame is self.landing and arrived:
            self.landing, frame.f_trace_opcodes = None, False
            self.halt(frame, "step")
            return self.trace_dispatch
        if event == "opcode":
            return self.trace_dispatch
        if event == "line":
            return self.dispatch_line(frame)
        if event == "call":
            return self.dispatch_call(frame, arg)
        if event == "return":
            return self.dispatch_return(frame, arg)
        if event == "exception":
            return self.dispatch_exception(frame, arg)
        return self.trace_dispatch

    def ours(self) -> bool:
        return threading.get_ident() == self.from_thread

    def dispatch_call(self, frame: Any, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename in _OURS:
            return None
        if self.functions and self.is_function(frame):
            self.entered.append(frame)
            return self.trace_dispatch
        if self.mode == "into" and self.ours():
            return self.trace_dispatch
        if "raised" in self.filters or self.canonic(code.co_filename) in self.breaks:
            return self.trace_dispatch
        return None

    def dispatch_line(self, frame: Any) -> Any:
        numbers = self.hit(frame)
        if frame in self.entered:
            self.entered.remove(frame)
            numbers += self.function_numbers(frame)
        if numbers or self.steps_here(frame):
            self.halt(frame, None, numbers)
        return self.trace_dispatch

    def steps_here(self, frame: Any) -> bool:
        if self.mode is None or not self.ours():
            return False
        if self.mode == "into":
            return True
        if self.mode == "until":
            return frame is self.from_frame and frame.f_lineno > self.last_line
        return self.mode == "over" and frame is self.from_frame

    def hit(self, frame: Any) -> list[str]:
        """Return the breakpoints on a line whose conditions hold or cannot be evaluated."""
        path = self.canonic(frame.f_code.co_filename)
        if frame.f_lineno not in self.breaks.get(path, ()):
            return []
        found = []
        for each in self.get_breaks(path, frame.f_lineno):
            if each.enabled and (each.cond is None or self.holds(each.cond, frame)):
                found.append(str(each.number))
        return found

    def holds(self, condition: str, frame: Any) -> bool:
        try:
            with self.running_code():
                return bool(eval(condition, frame.f_globals, frame.f_locals))
        except BaseException:
            return True

    def dispatch_return(self, frame: Any, arg: Any) -> Any:
        raised = self.raising == (id(frame), frame.f_lasti)
        if self.mode is not None and self.ours() and frame is self.from_frame:
            if not raised and _names.is_suspended(frame):
                # It waits for what it awaits, or has yielded: it will go on.
                return self.trace_dispatch
            caller = _looking.caller_of(frame)
            if self.mode == "out":
                # What an exception leaves has returned nothing.
                self.returned = None if raised else (frame.f_code.co_qualname, arg)
            self.mode = self.from_frame = None
            # An opcode is what comes first in the caller: its line has begun long ago.
            if caller is not None and caller.f_code.co_filename not in _OURS:
                self.landing = caller
                caller.f_trace, caller.f_trace_opcodes = self.trace_dispatch, True
        return self.trace_dispatch

    def dispatch_exception(self, frame: Any, arg: Any) -> Any:
        kind, value, trace = arg
        self.raising = (id(frame), frame.f_lasti)
        if (
            "raised" in self.filters
            and trace is not None
            and trace.tb_next is None
            and not issubclass(kind, _QUIET)
            and self.is_wanted(kind, "raised")
        ):
            self.thrown = (value, "raised")
            self.halt(frame, "exception")
        return self.trace_dispatch

    def is_wanted(self, kind: type, filter: str) -> bool:
        types_ = self.filters.get(filter)
        if types_ is None:
            return False
        names = {
            name for each in kind.__mro__ for name in (each.__name__, _looking.qualified(each))
        }
        return not types_ or bool(names.intersection(types_))

    def start(self, mode: str | None, frame: Any = None) -> None:
        self.mode, self.from_frame = mode, frame
        self.from_thread = threading.get_ident()

    def set_step(self) -> None:
        self.start("into", self.curframe)

    def set_next(self, frame: Any) -> None:
        self.start("over", frame)

    def set_return(self, frame: Any) -> None:
        self.start("out", frame)

    def set_until(self, frame: Any, lineno: Any = None) -> None:
        self.last_line = (lineno or frame.f_lineno + 1) - 1
        self.start("until", frame)

    def set_continue(self) -> None:
        self.start(None)

    def set_quit(self) -> None:
        os._exit(1)

    # --- functions by name, known or not yet

    def is_function(self, frame: Any) -> bool:
        return bool(self.function_numbers(frame)) and bool(_names.begins(frame))

    def function_numbers(self, frame: Any) -> list[str]:
        code = frame.f_code
        if not _names.is_function(code):
            return []
        found = self.meant.get(code)
        if found is None:
            found = self.meant[code] = [
                number
                for name, number in self.functions.items()
                if _names.matches(name, code, frame.f_globals)
            ]
        return list(found)

    # --- stops

    def halt(
        self, frame: Any, reason: str | None, numbers: list[str] | None = None, trace: Any = None
    ) -> None:
        """Stand still, and take commands until one lets the program go."""
        # A signal that comes from here on is for a program that stands already.
        self.halting.add(threading.get_ident())
        # In a signal's handler nothing else keeps us from tracing ourselves.
        tracing = sys.gettrace()
        sys.settrace(None)
        try:
            if self.pipes.open:
                self.stand(frame, reason, numbers or [], trace)
            else:
                tracing = None  # the program goes on alone
                threading.settrace(None)
        finally:
            self.halting.discard(threading.get_ident())
            sys.settrace(tracing)

    def stand(self, frame: Any, reason: str | None, numbers: list[str], trace: Any) -> None:
        with self.lock:
            self.follow(frame)
            self.frames = (
                _looking.stack_of(frame) if trace is None else _looking.stack_of_trace(trace)
            )
            self.botframe = self.frames[-1][0]
            self.landing = None
            if reason != "exception":
                self.thrown = None
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(Exception):
                    stream.flush()
            self.at_prompt = True
            try:
                self.message("@stop " + json.dumps(self.told(reason, numbers)))
                self.start("into", frame)
                self.ask(frame, trace)
            finally:
                self.at_prompt = False
                self.frames, self.kept = [], {}

    def told(self, reason: str | None, numbers: list[str]) -> dict[str, Any]:
        """Return what there is to say about a stop."""
        frame, line = self.frames[0]
        told: dict[str, Any] = {
            "reason": reason,
            "path": _looking.path_of(frame),
            "line": line,
            "function": frame.f_code.co_qualname,
            "thread": threading.get_native_id(),
            "numbers": numbers,
        }
        if self.returned is not None and reason == "step":
            function, value = self.returned
            told["returned"] = _answers.described(self, function, value, None)
        self.returned = None
        return told

    def ask(self, frame: Any, trace: Any) -> None:
        self.setup(frame, trace)
        while True:
            try:
                self.cmdloop()
                break
            except Unstuck:
                self.message("*** it took too long and was interrupted")
        self.forget()

    def preloop(self) -> None:
        """pdb's own displays belong to its terminal."""

    def follow(self, frame: Any) -> None:
        """See every line of the frames that the program will come back to."""
        while frame is not None:
            if frame.f_code.co_filename not in _OURS:
                frame.f_trace = self.trace_dispatch
            frame = frame.f_back

    def on_signal(self, number: int, frame: Any) -> None:
        """Stand still where the program is, in the middle of a call that waits or of an answer."""
        if self.evaluating:
            raise Unstuck
        if self.at_prompt or threading.get_ident() in self.halting:
            return
        frame = _looking.own(frame)
        if frame is not None:
            self.halt(frame, "pause")

    @contextlib.contextmanager
    def running_code(self) -> Any:
        """The program's own code runs because of a command: it can be interrupted."""
        before, self.evaluating = self.evaluating, True
        try:
            yield
        finally:
            self.evaluating = before

    # --- commands; those of `answers_probe.py` begin with `ff_`

    def precmd(self, line: str) -> str:
        return line if line.startswith("ff_") else super().precmd(line)

    def onecmd(self, line: str) -> bool:
        if not line.startswith("ff_"):
            return super().onecmd(line)
        name, _, arg = line.strip().partition(" ")
        try:
            self.message(_answers.COMMANDS[name](self, arg))
        except Unstuck:
            raise
        except BaseException as error:
            self.message(f"*** {_looking.words(error)}")
        return False

    def default(self, line: str) -> None:
        with self.running_code():
            super().default(line)

    def emptyline(self) -> bool:
        """An empty line repeats nothing."""
        return False

    def refuse(self, arg: str) -> None:
        self.message("*** not at this prompt")

    do_commands = do_interact = do_debug = do_run = do_restart = do_alias = refuse

    def do_EOF(self, arg: str) -> bool | None:
        os._exit(1)

    # --- the program

    def died(self, error: BaseException) -> None:
        """Look at an exception that nobody caught, where it was raised."""
        trace = _looking.without_ours(error.__traceback__)
        if trace is not None and self.is_wanted(type(error), "uncaught"):
            self.thrown = (error, "uncaught")
            self.halt(trace.tb_frame, "exception", trace=trace)

    def in_a_new_thread(self, frame: Any, event: str, arg: Any) -> Any:
        # Handlers run in the main thread, and only a signal that it gets itself wakes it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGURG})
        sys.settrace(self.trace_dispatch)
        return self.trace_dispatch(frame, event, arg)

    def in_a_child(self) -> None:
        """A forked child is the program alone."""
        sys.settrace(None)
        threading.settrace(None)
        signal.signal(signal.SIGURG, signal.SIG_DFL)
        self.pipes.close()

    def run_program(self, code: Any, module: types.ModuleType) -> int | None:
        """Run the program's code; return its exit status where it did not end by itself."""
        os.register_at_fork(after_in_child=self.in_a_child)
        signal.signal(signal.SIGURG, self.on_signal)
        threading.settrace(self.in_a_new_thread)
        their_hook = threading.excepthook

        def in_a_thread(args: Any) -> None:
            if args.exc_value is not None and args.exc_type is not SystemExit:
                self.died(args.exc_value)
            their_hook(args)

        threading.excepthook = in_a_thread
        self.reset()
        self.start("into")
        sys.settrace(self.trace_dispatch)
        try:
            exec(code, module.__dict__)
        except SystemExit:
            raise
        except BaseException as error:
            sys.settrace(None)
            self.died(error)
            show_as_python_does(error)
            return 130 if isinstance(error, KeyboardInterrupt) else 1
        finally:
            sys.settrace(None)
        return None


# --- the program that is named ------------------------------------------------------------------


def prepare(kind: str, name: str, args: list[str]) -> tuple[Any, types.ModuleType]:
    """Make this process what `python NAME` or `python -m NAME` would be, up to its first line."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, __annotations__={}, __cached__=None)
    if kind == "module" or os.path.isdir(name):
        inside = kind != "module"
        sys.path.insert(0, os.path.abspath(name) if inside else os.getcwd())
        sys.argv = ["-m", *args]
        sought = "__main__" if inside else name
        del sys.modules["__main__"]  # we, who are not what is sought
        _, spec, code = runpy._get_module_details(sought)  # type: ignore[attr-defined]
        sys.argv = [name if inside else code.co_filename, *args]
        main.__spec__, main.__loader__ = spec, spec.loader
        main.__package__ = spec.parent
        main.__file__ = code.co_filename
    else:
        sys.argv, name = [name, *args], os.path.abspath(name)
        sys.path.insert(0, os.path.dirname(os.path.realpath(name)))
        main.__file__ = name
        with io.open_code(name) as source:
            code = compile(source.read(), name, "exec", dont_inherit=True)
    sys.modules["__main__"] = main
    return code, main


def show_as_python_does(error: BaseException) -> None:
    """Write the traceback that the program would have died with."""
    trace = _looking.without_ours(error.__traceback__)
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def main() -> int | None:
    read, write, _, kind, name, *args = sys.argv[1:]
    debugger = Debugger(int(read), int(write))
    debugger.message("@hello " + ".".join(map(str, sys.version_info[:2])))
    try:
        code, module = prepare(kind, name, args)
    except (SyntaxError, ValueError, OSError) as error:
        show_as_python_does(error)
        return 1
    except ImportError as error:
        sys.stderr.write(f"{sys.executable}: {error}\n")
        return 1
    return debugger.run_program(code, module)


sys.exit(main())
