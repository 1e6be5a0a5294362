"""Share `sys.settrace` between the program and its debugger; runs inside the debuggee.

Coverage, profilers of lines and tracers of calls set a trace function, in Python or in C, and would
take the debugger's away. Here both are called, the program's first. It becomes the module
`_freezeframe_trace_sharing`, and is used where the debugger itself traces by `sys.settrace`.

An audit event precedes every change of a trace function. The change is complete at the next event
of the thread that a profile function gets: there both functions are combined again.
"""

from __future__ import annotations

import sys
import threading
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

raw_trace = sys.gettrace
_setprofile, _getprofile = sys.setprofile, sys.getprofile
#: see `watch`
_state: dict[str, Any] = {"is_own": None, "requested": None, "files": (), "set": sys.settrace}
#: the program's trace function of a thread, by ident
programs: dict[int, Any] = {}
#: threads whose trace function is being changed here, or called by `Shared`
_busy: set[int] = set()


def watch(is_own: Callable[[Any], bool], requested: Callable[[Any], Any], files: Any) -> None:
    """Keep the debugger's trace function when the program sets one.

    *is_own* returns whether a trace function is the debugger's. *requested* returns the one for the
    current thread, given that before the change, or None. The program does not trace code of
    *files*, and what they set is the debugger's.
    """
    if _state["is_own"] is None:
        sys.addaudithook(_audit)
    _state.update(is_own=is_own, requested=requested, files=files, set=sys.settrace)


def leave() -> None:
    """Leave only the program's trace functions set."""
    if _state["is_own"] is not None:
        _state["requested"] = lambda _before: None
        sys.gettrace = raw_trace


def gettrace() -> Any:
    """Return the trace function that the program has set; until it sets one, the debugger's."""
    now = raw_trace()
    return programs.get(threading.get_ident(), now) if type(now) is Shared or is_own(now) else now


# --- trace functions ----------------------------------------------------------------------------


class Shared:
    """Trace function of a thread, called for its calls."""

    __slots__ = ("debugger", "program")

    def __init__(self, program: Any, debugger: Any) -> None:
        self.program = program
        self.debugger = debugger

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename in _state["files"]:
            return None
        program = _called(self.program, frame, event, arg)
        own = self.debugger(frame, event, arg)
        now = raw_trace()
        if self.program is not None and now is not None and is_own(now):
            # pydevd sets another trace function at the first call of a thread.
            self.debugger = now
            set_trace(self)
        return own if program is None else Local(program, own, frame)


class Local:
    """Trace function of a frame that the program traces, and the debugger unless it is None."""

    __slots__ = ("debugger", "lines", "opcodes", "program")

    def __init__(self, program: Any, debugger: Any, frame: Any) -> None:
        self.program = program
        self.debugger = debugger
        self.lines, self.opcodes = True, frame.f_trace_opcodes
        self._see_lines(frame)

    def _see_lines(self, frame: Any) -> None:
        # coverage requests no lines of files that it does not measure.
        if self.debugger is not None and not frame.f_trace_lines:
            self.lines, frame.f_trace_lines = False, True

    def __call__(self, frame: Any, event: str, arg: Any) -> Any:
        if not stops(self.program):
            self.call_program(frame, event, arg)
        if self.debugger is not None:
            own = self.debugger(frame, event, arg)
            if own is not None:
                self.debugger = own
            elif frame.f_trace is not self:
                self.debugger = frame.f_trace
        if stops(self.program):
            self.call_program(frame, event, arg)
        return self

    def call_program(self, frame: Any, event: str, arg: Any) -> None:
        """Call the program's trace function for an event that it has requested."""
        if self.program is None or not getattr(self, _OPTIONAL.get(event, "program")):
            return
        result = _called(self.program, frame, event, arg)
        if result is not None:
            self.program = result
        elif frame.f_trace is not self:
            self.program = frame.f_trace
        if frame.f_trace is not self:
            frame.f_trace = self
        self._see_lines(frame)


#: events that a frame gets only on request → the attribute of `Local`
_OPTIONAL = {"line": "lines", "opcode": "opcodes"}


def _called(tracer: Any, frame: Any, event: str, arg: Any) -> Any:
    """Call a trace function of the program, which may set another: those in C set themselves."""
    ident = threading.get_ident()
    before = raw_trace()
    result = as_debugger(tracer, frame, event, arg)
    now = raw_trace()
    if now is not before and not stops(tracer):
        programs[ident] = now
        if type(before) is Shared:
            before.program = now
            set_trace(before if now is not None else before.debugger)
    return result


def stops(tracer: Any) -> bool:
    """Return whether a trace function is that of watchpoints, in the place of the program's."""
    return "stops" in _dict_of(type(tracer))


_dict_of: Any = type.__dict__["__dict__"].__get__


def program_of(tracer: Any) -> Any:
    """Return the program's part of a frame's trace function, or None."""
    if type(tracer) is Shared or issubclass(type(tracer), Local):
        return tracer.program
    return None if tracer is None or is_own(tracer) else tracer


def debugger_of(tracer: Any) -> Any:
    """Return the debugger's part of a frame's trace function, or None."""
    if issubclass(type(tracer), Local):
        return tracer.debugger
    return tracer if tracer is not None and is_own(tracer) else None


def give(frame: Any, tracer: Any) -> None:
    """Make *tracer* the debugger's trace function of *frame*; the program keeps its own."""
    program = program_of(frame.f_trace)
    frame.f_trace = tracer if program is None else Local(program, tracer, frame)


def locals_of(frame: Any) -> list[tuple[Any, Any]]:
    """Return the frames from *frame* outward that the program traces, with its functions."""
    found = []
    while frame is not None:
        program = program_of(frame.f_trace)
        if program is not None:
            found.append((frame, program))
        frame = frame.f_back
    return found


def restore(found: list[tuple[Any, Any]]) -> None:
    """Combine what `locals_of` has returned with the trace functions that a stop has set."""
    for frame, program in found:
        if program_of(frame.f_trace) is None:
            own = frame.f_trace
            frame.f_trace = program if own is None else Local(program, own, frame)


# --- threads ------------------------------------------------------------------------------------


def set_trace(tracer: Any) -> None:
    """Set the trace function of the current thread, as the debugger."""
    as_debugger(_state["set"], tracer)


def as_debugger(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that may set trace functions; `_audit` leaves them as they are."""
    ident = threading.get_ident()
    nested = ident in _busy
    _busy.add(ident)
    try:
        return call(*arguments)
    finally:
        if not nested:
            _busy.discard(ident)


def rejoin() -> None:
    """Combine the trace function that the debugger has just set with the program's."""
    now, ident = raw_trace(), threading.get_ident()
    if programs.get(ident) is not None and now is not None and is_own(now):
        set_trace(joined(now, ident))


def joined(tracer: Any, ident: int) -> Any:
    """Return *tracer*, together with the trace function that the program has in that thread."""
    program = programs.get(ident)
    return tracer if program is None else Shared(program, tracer)


def _audit(event: str, _arguments: Any) -> None:
    if event != "sys.settrace" or threading.get_ident() in _busy:
        return
    if sys._getframe(1).f_code.co_filename in _state["files"]:
        return
    profile = _getprofile()
    if profile is not None and not isinstance(profile, (types.FunctionType, types.MethodType)):
        return  # a profiler in C could not be set again
    before = raw_trace()

    def changed(frame: Any, event: str, arg: Any) -> None:
        _setprofile(profile)
        if profile is not None:
            profile(frame, event, arg)
        _share(before, frame if event == "call" else None)

    if getattr(profile, "__code__", None) is not changed.__code__:
        _setprofile(changed)


def _share(before: Any, entered: Any) -> None:
    """Combine the trace functions of the current thread, which may have just *entered* a frame."""
    now = raw_trace()
    if now is not None and (type(now) is Shared or is_own(now)):
        return
    programs[threading.get_ident()] = now
    requested = _state["requested"](before.debugger if type(before) is Shared else before)
    if requested is None:
        return
    sys.gettrace = gettrace
    set_trace(requested if now is None else Shared(now, requested))
    if entered is not None and entered.f_code.co_filename not in _state["files"]:
        # The new trace function got this call alone.
        found = locals_of(entered)[:1]
        own = requested(entered, "call", None)
        if own is not None:
            entered.f_trace = own
            restore(found)


def is_own(tracer: Any) -> bool:
    """Return whether a trace function is the debugger's alone."""
    return type(tracer) is not Shared and bool(_state["is_own"](tracer))
