"""pdb on descriptors of its own; the main script of the program's interpreter.

    PYTHON agent.py READ WRITE TEXT_AGENT script|module NAME [the program's arguments]

READ and WRITE are descriptors, so only the program uses standard input, output and error. pdb's
own commands stay as they are; Freezeframe uses commands that begin with `ff_`, which take and print
JSON, and a line `@stop …` at every stop.

This file can import nothing of the package, and makes nothing of it importable.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036
    version = ".".join(map(str, sys.version_info[:2]))
    sys.exit(f"freezeframe needs Python 3.11 or later for this, and {sys.executable} is {version}")
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

import contextlib
import json
import os
import pdb
import signal
import threading
import types
from typing import Any


def load(name: str, path: str) -> Any:
    """Load one of our files as a module, under a name that no program uses."""
    module = sys.modules[f"_freezeframe_{name}"] = types.ModuleType(f"_freezeframe_{name}")
    module.__file__ = path
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)
    return module


def sibling(name: str) -> str:
    return os.path.join(os.path.dirname(__file__), name)


def shared(name: str, file: str) -> Any:
    return load(name, os.path.join(os.path.dirname(sys.argv[3]), f"{file}_agent.py"))


shared("objects", "object_fields")
shared("native", "native")
shared("shapes", "value_structure")
shared("assigning", "assignments")
load("text", sys.argv[3])
shared("pages", "pages")
_names = shared("names", "function_names")
shared("loaded", "loaded_code")
shared("exceptions", "exceptions")
_failures = shared("failures", "failures")
_sharing = shared("trace_sharing", "trace_sharing")
_signals = shared("signals", "signals")
_INTERRUPTS = (signal.SIGURG,) if hasattr(signal, "SIGURG") else ()  # none on Windows
_tasks = shared("tasks", "tasks")
_looking = load("looking", sibling("frames_agent.py"))
_answers = load("answers", sibling("queries_agent.py"))
_pipes = load("pipes", sibling("pipes_agent.py"))
_program = load("program", sibling("program_agent.py"))
_threads = load("threads", sibling("threads_agent.py"))
_AGENT_FILES = _looking.AGENT_FILES
_QUIET = (StopIteration, StopAsyncIteration, GeneratorExit)


class Unstuck(BaseException):
    """An evaluation took too long. `value_text_agent.py` refers to it by this name."""


class Debugger(pdb.Pdb):
    """pdb that steps by lines, keeps threads apart and uses no terminal."""

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
        #: frame and instruction that raised last: a return event from there is not a return
        self.raising: tuple[int, int] | None = None
        self.functions: dict[str, str] = {}
        self.last_function = 0
        #: code → numbers of the function breakpoints that match it
        self.matching_functions: dict[Any, list[str]] = {}
        self.filters: dict[str, list[str]] = {}
        self.at_prompt = False
        #: threads that are stopped, or about to stop
        self.halting: set[int] = set()
        self.evaluating = False
        self.frames: list[tuple[Any, int]] = []
        self.shown_values: dict[tuple[int, int, str], Any] = {}
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
        try:
            return self.dispatch(frame, event, arg)
        except RecursionError:
            # At the end of the stack: the interpreter would end all tracing.
            try:
                limit = sys.getrecursionlimit()
                _looking.set_limit(limit + _looking.ROOM)
                try:
                    return self.dispatch(frame, event, arg)
                finally:
                    _looking.set_limit(limit)
            except RecursionError:
                return self.trace_dispatch

    def dispatch(self, frame: Any, event: str, arg: Any) -> Any:
        # Python 3.12 reports the line again where opcode events begin.
        # In an exception handler, the first opcodes belong to no line.
        is_in_line = event == "line" or (event == "opcode" and frame.f_lineno is not None)
        if frame is self.landing and is_in_line:
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

    def is_stepping_thread(self) -> bool:
        return threading.get_ident() == self.from_thread

    def dispatch_call(self, frame: Any, arg: Any) -> Any:
        code = frame.f_code
        if code.co_filename in _AGENT_FILES:
            return None
        if self.functions and self.is_function(frame):
            self.entered.append(frame)
            return self.trace_dispatch
        if self.mode == "into" and self.is_stepping_thread():
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
        if self.mode is None or not self.is_stepping_thread():
            return False
        if self.mode == "into":
            return True
        if self.mode == "until":
            return frame is self.from_frame and frame.f_lineno > self.last_line
        return self.mode == "over" and frame is self.from_frame

    def hit(self, frame: Any) -> list[str]:
        """Return the breakpoints on a line whose conditions are true or cannot be evaluated."""
        path = self.canonic(frame.f_code.co_filename)
        if frame.f_lineno not in self.breaks.get(path, ()):
            return []
        found = []
        for each in self.get_breaks(path, frame.f_lineno):
            if each.enabled and (each.cond is None or self.condition_is_true(each.cond, frame)):
                found.append(str(each.number))
        return found

    def condition_is_true(self, condition: str, frame: Any) -> bool:
        try:
            with self.running_code():
                return bool(eval(condition, frame.f_globals, frame.f_locals))
        except BaseException:
            return True

    def dispatch_return(self, frame: Any, arg: Any) -> Any:
        raised = self.raising == (id(frame), frame.f_lasti)
        if self.mode is not None and self.is_stepping_thread() and frame is self.from_frame:
            if not raised and _names.is_suspended(frame):
                # The frame awaits or has yielded: it will be resumed.
                return self.trace_dispatch
            caller = _looking.awaiting_frame(frame) or _looking.caller_of(frame)
            if self.mode == "out":
                # A function that an exception leaves returns nothing.
                self.returned = None if raised else (frame.f_code.co_qualname, arg)
            self.mode = self.from_frame = None
            # The caller's next event is an opcode: its line has begun before.
            if caller is not None and caller.f_code.co_filename not in _AGENT_FILES:
                self.landing = caller
                _sharing.give(caller, self.trace_dispatch)
                caller.f_trace_opcodes = True
                # Python 3.12 reports opcodes from the next call of sys.settrace on.
                _sharing.set_trace(_sharing.raw_trace())
        return self.trace_dispatch

    def dispatch_exception(self, frame: Any, arg: Any) -> Any:
        kind, value, trace = arg
        self.raising = (id(frame), frame.f_lasti)
        if (
            "raised" in self.filters
            and trace is not None
            and trace.tb_next is None
            and not _looking.is_import_system(frame)
            and not issubclass(kind, _QUIET)
            and self.matches_filter(kind, "raised")
        ):
            self.thrown = (value, "raised")
            self.halt(frame, "exception")
        return self.trace_dispatch

    def matches_filter(self, kind: type, filter: str) -> bool:
        return bool(_looking.is_one_of(kind, self.filters.get(filter)))

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

    # --- function breakpoints

    def is_function(self, frame: Any) -> bool:
        return bool(self.function_numbers(frame)) and bool(_names.begins(frame))

    def function_numbers(self, frame: Any) -> list[str]:
        code = frame.f_code
        if not _names.is_function(code):
            return []
        found = self.matching_functions.get(code)
        if found is None:
            found = self.matching_functions[code] = [
                number
                for name, number in self.functions.items()
                if _names.matches(name, code, frame.f_globals)
            ]
        return list(found)

    # --- stops

    def halt(
        self, frame: Any, reason: str | None, numbers: list[str] | None = None, trace: Any = None
    ) -> None:
        """Stop, and take commands until one resumes the program."""
        # A signal from here on reaches a program that is stopped already.
        self.halting.add(threading.get_ident())
        # In a signal handler nothing else prevents tracing the debugger itself.
        tracing = _sharing.raw_trace()
        _sharing.set_trace(None)
        held = _signals.hold(_INTERRUPTS)
        try:
            if self.pipes.open:
                self.serve_stop(frame, reason, numbers or [], trace)
            else:
                # The program runs without a debugger.
                tracing = _sharing.program_of(tracing)
                _sharing.leave()
                threading.settrace(None)
        finally:
            self.halting.discard(threading.get_ident())
            if held:
                _signals.release()
            _sharing.set_trace(tracing)

    def serve_stop(self, frame: Any, reason: str | None, numbers: list[str], trace: Any) -> None:
        with self.lock:
            self.trace_frames(frame)
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
                self.message("@stop " + json.dumps(self.stop_fields(reason, numbers)))
                self.start("into", frame)
                self.take_commands(frame, trace)
            finally:
                self.at_prompt = False
                self.frames, self.shown_values = [], {}

    def stop_fields(self, reason: str | None, numbers: list[str]) -> dict[str, Any]:
        """Return the fields of a stop."""
        frame, line = self.frames[0]
        fields: dict[str, Any] = {
            "reason": reason,
            "path": _looking.path_of(frame),
            "line": line,
            "function": frame.f_code.co_qualname,
            "thread": threading.get_native_id(),
            "numbers": numbers,
        }
        if self.returned is not None and reason == "step":
            function, value = self.returned
            fields["returned"] = _answers.describe_value(self, function, value, None)
        self.returned = None
        return fields

    def take_commands(self, frame: Any, trace: Any) -> None:
        self.setup(frame, trace)
        while True:
            try:
                self.cmdloop()
                break
            except Unstuck:
                self.message("*** it took too long and was interrupted")
        self.forget()

    def preloop(self) -> None:
        """Show none of pdb's displays, which are for its terminal."""

    def trace_frames(self, frame: Any) -> None:
        """Trace every line of the frames that the program will return to."""
        while frame is not None:
            if frame.f_code.co_filename not in _AGENT_FILES:
                _sharing.give(frame, self.trace_dispatch)
            frame = frame.f_back

    def on_signal(self, number: int, frame: Any) -> None:
        """Stop where the program is, or interrupt an evaluation."""
        if self.evaluating:
            raise Unstuck
        if self.at_prompt or threading.get_ident() in self.halting:
            return
        frame = _looking.program_frame(frame)
        if frame is not None:
            self.halt(frame, "pause")

    @contextlib.contextmanager
    def running_code(self) -> Any:
        """Mark code of the program that a command runs: it can be interrupted."""
        before, self.evaluating = self.evaluating, True
        try:
            yield
        finally:
            self.evaluating = before

    # --- commands; those of `queries_agent.py` begin with `ff_`

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
            self.message(f"*** {_looking.describe_error(error)}")
        return False

    def default(self, line: str) -> None:
        with self.running_code():
            super().default(line)

    def emptyline(self) -> bool:
        """Do not repeat the last command."""
        return False

    def refuse(self, arg: str) -> None:
        self.message("*** not at this prompt")

    do_commands = do_interact = do_debug = do_run = do_restart = do_alias = refuse

    def do_EOF(self, arg: str) -> bool | None:
        os._exit(1)

    # --- the program

    def stop_at_uncaught(self, error: BaseException) -> None:
        """Stop at an uncaught exception, where it was raised."""
        self.stop_at_exception(error, _looking.without_agent_frames(error.__traceback__))

    def stop_at_exception(self, error: BaseException, trace: Any) -> None:
        if trace is not None and self.matches_filter(type(error), "uncaught"):
            mode = "test-failing" if _failures.is_failure(error) else "uncaught"
            self.thrown = (error, mode)
            self.halt(trace.tb_frame, "exception", trace=trace)

    def trace_thread(self, *event: Any) -> Any:
        _sharing.set_trace(self.tracer_of_thread())
        return self.trace_dispatch(*event) if event else None

    def tracer_of_thread(self, _before: Any = None) -> Any:
        if threading.current_thread() is not threading.main_thread():
            # Handlers run in the main thread, and only a signal delivered to that thread wakes it.
            _signals.block(_INTERRUPTS)
        return self.trace_dispatch

    def is_own_tracer(self, tracer: Any) -> bool:
        return type(tracer) is types.MethodType and tracer.__self__ is self

    def after_fork_in_child(self) -> None:
        """Let a forked child run without the debugger."""
        _sharing.leave()
        _sharing.set_trace(_sharing.program_of(_sharing.raw_trace()))
        threading.settrace(None)
        _signals.handle(_INTERRUPTS, signal.SIG_DFL)
        self.pipes.close()

    def run_program(self, code: Any, module: types.ModuleType) -> int | None:
        """Run the program's code; return its exit status if it died of an exception."""
        getattr(os, "register_at_fork", dict)(after_in_child=self.after_fork_in_child)
        _signals.handle(_INTERRUPTS, self.on_signal)
        _threads.watch(self.trace_thread, self.stop_at_uncaught)
        _failures.watch(
            _looking.is_of_program, lambda _, *failure: self.stop_at_exception(*failure), []
        )
        _signals.watch(lambda frame: _looking.is_called_by(frame, Debugger.trace_dispatch.__code__))
        self.reset()
        self.start("into")
        _sharing.watch(self.is_own_tracer, self.tracer_of_thread, _AGENT_FILES)
        _program.trace_exit_functions(self, _sharing.set_trace)
        _sharing.set_trace(self.trace_dispatch)
        try:
            exec(code, module.__dict__)
        except SystemExit:
            raise
        except BaseException as error:
            _sharing.set_trace(None)
            self.stop_at_uncaught(error)
            _looking.print_traceback(error)
            return 130 if isinstance(error, KeyboardInterrupt) else 1
        finally:
            _sharing.leave()
            _sharing.set_trace(None)
        return None


def main() -> int | None:
    read, write, _, kind, name, *args = sys.argv[1:]
    debugger = Debugger(int(read), int(write))
    debugger.message("@hello " + ".".join(map(str, sys.version_info[:2])))
    try:
        code, module = _program.prepare(kind, name, args)
    except (SyntaxError, ValueError, OSError) as error:
        _looking.print_traceback(error)
        return 1
    except ImportError as error:
        sys.stderr.write(f"{sys.executable}: {error}\n")
        return 1
    return debugger.run_program(code, module)


sys.exit(main())
