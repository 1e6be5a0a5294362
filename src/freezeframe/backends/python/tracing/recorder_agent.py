"""Turns events of the interpreter into records of a trace; the module `_freezeframe_recorder`.

Runs inside the traced program and imports nothing of this package. A driver
(`monitoring_agent.py`, `settrace_agent.py`) calls `start`, `line`, `leave`, … for frames of the
code that is traced. What a line changed is recorded at the next event of its frame.
"""

from __future__ import annotations

import _thread
import sys
from typing import Any

_log: Any = sys.modules["_freezeframe_log"]
_identities: Any = sys.modules["_freezeframe_identities"]
_values: Any = sys.modules["_freezeframe_values"]
_mentions: Any = sys.modules["_freezeframe_mentions"]
_plans: Any = sys.modules["_freezeframe_plans"]
_code: Any = sys.modules["_freezeframe_code"]
_omissions: Any = sys.modules["_freezeframe_omissions"]

_known_of, _value_of, _First = _identities.known_of, _values.value_of, _values.First
_get_known, _NAMESPACE = _identities.get_known, _identities.NAMESPACE
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
#: what `FrameKind` of the reader is, by index
_FUNCTION, _GENERATORS, _COROUTINES, _MODULE, _CLASS, _COMPREHENSION = range(6)
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class State:
    """A frame that is traced."""

    __slots__ = (
        "calls", "error", "error_id", "flow", "flows", "is_cut", "is_interrupted", "key", "mark",
        "names", "namespace", "number", "plan", "record", "samples", "step", "values",
    )  # fmt: skip

    def __init__(self, number: int, plan: Any, key: int) -> None:
        self.number = number
        #: id of the frame, under which `states` has it
        self.key = key
        #: id of the exception that was recorded last
        self.error_id = 0
        #: traced functions that the line has called, and how often lines had run code that may
        #: not be traced when it began
        self.calls = 0
        self.mark = -1
        #: the global variables of the frame
        self.names: Any = None
        self.plan = plan
        self.flows = plan.flows
        #: the flow of the line that is executed; None before the first line
        self.flow: Any = None
        #: the number of the step that is executed
        self.step = -1
        #: how often the clock was read in it; nothing but its end is recorded any more
        self.samples = 0
        self.is_cut = False
        #: an exception was raised in the line that is executed
        self.is_interrupted = False
        #: the description of the exception that was raised in the frame last
        self.error = ""
        #: name of a variable → index of its value
        self.values: dict[str, int] = {}
        #: the record of the module's namespace
        self.namespace: Any = None
        #: the record of the frame, without its arguments: written again in each segment
        self.record: tuple[int, ...] = ()


#: id of a frame → its state, while the frame is alive
states: dict[int, State] = {}
#: id of a frame → the step that an exception left it from
left: dict[int, int] = {}
_next_frame = iter(range(1, 1 << 62)).__next__
next_step = iter(range(1, 1 << 62)).__next__
#: id of a code object → its plan, or None if it is not traced
plans: dict[int, Any] = {}
#: code objects, held so that their ids are not used again
_codes: list[Any] = []
_sources: dict[str, Any] = {}


class Settings:
    """What is traced, and when recording ends; set once at the beginning."""

    is_traced: Any = None
    file_of: Any = None
    #: path, line and number of hits of the line where recording ends
    until: Any = None
    hits = 0
    #: functions that take most of the time may be left out when the run takes long
    may_drop = True
    on_until: Any = None

    @staticmethod
    def on_untraced(code: Any) -> None:
        """Called with code that is not traced and calls code that is."""


def pass_on(error: BaseException) -> None:
    """Raise what a signal handler of the program has raised meanwhile; ignore faults of ours."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    is_internal = trace is None or trace.tb_frame.f_globals.get("__name__", "").startswith(
        "_freezeframe_"
    )
    if type(error) is KeyboardInterrupt or not is_internal:
        raise error
    if type(error) is RecursionError:
        _omissions.note("steps at the limit of recursion were not recorded")
        return
    if len(faults) < 5:
        name = trace.tb_frame.f_code.co_name if trace is not None else ""
        at = trace.tb_lineno if trace is not None else 0
        faults.append(f"{describe(error)} ({name}:{at})")


#: faults inside the agents
faults: list[str] = []


# --- code ---------------------------------------------------------------------------------------


def plan_of(code: Any) -> Any:
    """Return the plan of a code object; None if it is not traced."""
    key = id(code)
    if key in plans:
        return plans[key]
    _codes.append(code)
    path = Settings.is_traced(code)
    if path is None:
        plans[key] = None
        return None
    source = _sources.get(path)
    if source is None:
        source = _sources[path] = _mentions.read_source(path)
    until = Settings.until
    stop = until[1] if until and until[0] == path else None
    found = plans[key] = _plans.Plan(code, path, _kind_of(code), source, stop)
    found.outer = _outer.get(key)
    for each in code.co_consts:
        if type(each) is type(code):
            _outer[id(each)] = found
    return found


def set_running(plan: Any, code: Any) -> None:
    """Let a plan be that of an instrumented code object."""
    plan.running = code
    _codes.append(code)
    plans[id(code)] = plan


#: id of a code object → the plan of the code that defines it, which holds it
_outer: dict[int, Any] = {}


def _kind_of(code: Any) -> int:
    flags, name = code.co_flags, code.co_name
    if name in _COMPREHENSIONS:
        return _COMPREHENSION
    if flags & (_COROUTINE | _ASYNC_GENERATOR):
        return _COROUTINES
    if flags & _GENERATOR:
        return _GENERATORS
    if name == "<module>":
        return _MODULE
    return _FUNCTION if flags & 2 else _CLASS


def _code_index(plan: Any) -> int:
    """Return the index of a code object in the current segment."""
    code = plan.code
    string = _log.string
    named = string(getattr(code, "co_qualname", code.co_name)), string(plan.path)
    index = _log.next_value()
    _log.records.extend((_log.CODE, index, *named, code.co_firstlineno, plan.kind))
    plan.index = index
    return int(index)


# --- frames -------------------------------------------------------------------------------------


def start(frame: Any, plan: Any) -> State:
    """Record the beginning of a frame, with its arguments."""
    state, step = enter(frame, plan)
    if plan.calls == 1:
        plan.arguments = _code.arguments_of(plan)
    given = () if plan.arguments is None else plan.arguments(frame, state, step)
    _log.records.extend((_log.FRAME, plan.index, *state.record, len(given) // 2, *given))
    return state


def enter(frame: Any, plan: Any) -> tuple[State, int]:
    """Return the state of a frame that begins, and the step that called it or -1."""
    key = id(frame)
    state = states[key] = State(_next_frame(), plan, key)
    plan.calls += 1
    if plan.code.co_cellvars:
        plan.started += 1
        plan.last = state.number
        plan.live[state.number] = True
    back = frame.f_back
    caller = states.get(id(back)) if back is not None else None
    step = -1
    site: Any = _NOWHERE
    # A generator that was closed without an event may have had the same id.
    if caller is not None and caller.plan.running is back.f_code and not caller.is_cut:
        step = caller.step
        flow = caller.flow
        if flow is not None and plan.code.co_name in flow.called:
            caller.calls += 1
            if flow.calls > 1:
                _First.now += 1
        else:
            _First.untraced += 1
            _First.now += 1
        site = caller.plan.sites.get(back.f_lasti)
        if site is None:
            site = caller.plan.site(back.f_lasti)
    else:
        _First.untraced += 1
        _First.now += 1
        if back is not None and caller is None:
            Settings.on_untraced(back.f_code)
    if plan.index < 0:
        _code_index(plan)
    state.names = names = frame.f_globals
    namespace = _get_known(id(names))
    if namespace is None or namespace.shape != _NAMESPACE:
        namespace = _new_namespace(names)
    state.namespace = namespace
    state.record = (state.number, step, *site, _thread_name(), _task_name(), namespace.number)
    return state, step


_NOWHERE = (-1, -1, -1, -1)


def _new_namespace(names: Any) -> Any:
    made = _known_of(names)
    made.shape = _NAMESPACE  # never looked at as a whole
    made.parts = {}
    return made


def rewrite_frames() -> None:
    """Write the frames that are alive again, at the beginning of a segment."""
    for plan in list(plans.values()):
        if plan is not None:
            plan.index = -1
    _identities.forget()
    for state in list(states.values()):
        state.values.clear()
        plan = state.plan
        code = plan.index if plan.index >= 0 else _code_index(plan)
        _log.records.extend((_log.FRAME, code, *state.record, 0))
    _omissions.write()


class _Thread:
    """The thread that a frame was started in last, and the index of its name."""

    thread: Any = None
    index = 0


def _thread_name() -> int:
    module: Any = sys.modules.get("threading")
    if module is None:
        return _MAIN
    found = module._active.get(_thread.get_ident())
    if found is not None and found is _Thread.thread:
        return _Thread.index
    name = _identities.attribute(found, "_name") if found is not None else None
    index = int(_log.name(name)) if type(name) is str else _MAIN
    _Thread.thread, _Thread.index = found, index
    return index


_MAIN: int = _log.name("MainThread")
_NO_TASK: int = _log.name("")


def _task_name() -> int:
    module: Any = sys.modules.get("_asyncio")
    if module is None or module._get_running_loop() is None:
        return _NO_TASK
    try:
        if hasattr(module, "current_task"):
            task = module.current_task()
        else:  # before 3.12
            task = module._current_tasks.get(module._get_running_loop())
        return int(_log.name(task.get_name())) if type(task) is module.Task else _NO_TASK
    except Exception:
        return _NO_TASK


# --- lines --------------------------------------------------------------------------------------


def line(
    code: Any,
    number: int,
    frame: Any = None,
    get_frame: Any = sys._getframe,
    get: Any = states.get,
    next_step: Any = next_step,
    extend: Any = _log.records.extend,
    kind: int = _log.STEP,
    suspects: Any = _identities.suspects,
    first: Any = _First,
) -> Any:
    """Record that a frame begins to execute a line; the frame of the caller if none is given.

    The callback of `sys.monitoring`, called for each line; returns what that returns.
    """
    try:
        if frame is None:
            frame = get_frame(1)
        state = get(id(frame))
        if state is None or state.is_cut:
            return without_state(code)
        offset = frame.f_lasti
        step = next_step()
        flow = state.flow
        if flow is not None and flow.after is not None:
            flow.after(frame, state, flow.end == offset and not state.is_interrupted)
        if suspects:
            _identities.release()
        flow = state.flows.get(offset)
        if flow is None:
            flow = _new_flow(state.plan, offset, number)
        state.flow = flow
        state.step = step
        state.is_interrupted = False
        state.calls, state.mark = 0, first.untraced
        extend((kind, step, state.number, number))
        if flow.before is not None:
            flow.before(frame, state, step)
        if flow.until:
            count_hit()
        if not step & 1023:
            tick(state, step)
    except BaseException as error:
        pass_on(error)
    return None


def tick(state: State, step: int) -> None:
    """Write what is pending, and look at the clock; called every now and then."""
    _log.file.steps = step
    _look_at_clock(state)


def _look_at_clock(state: State) -> None:
    _log.check()
    state.plan.samples += 1
    state.samples += 1
    if state.plan.kind == _COMPREHENSION and state.samples >= _omissions.LONG and Settings.may_drop:
        _omissions.cut(state)
    if _log.file.flushed > _log.file.late and Settings.may_drop:
        _omissions.drop_hottest(plans)


def without_state(code: Any) -> Any:
    """Return what ends the events of a function that is not recorded any more, once no frame of
    it is; None for others.
    """
    plan = plans.get(id(code))
    if plan is None or not plan.is_dropped:
        return None
    return None if any(each.plan is plan for each in list(states.values())) else _DISABLE


_DISABLE: Any = getattr(getattr(sys, "monitoring", None), "DISABLE", None)


def _new_flow(plan: Any, offset: int, number: int) -> Any:
    flow = plan.flow(offset, number)
    flow.before, flow.after = _code.functions_of(flow, plan)
    return flow


def settle(state: State, frame: Any) -> None:
    """Record what the line that a frame leaves has changed."""
    flow = state.flow
    if flow is not None and flow.after is not None:
        flow.after(frame, state, False)


def last_step() -> int:
    """Return the number of the last step; called once, at the end."""
    return int(next_step()) - 1


def count_hit() -> None:
    Settings.hits += 1
    if Settings.hits == Settings.until[2]:
        Settings.on_until()


# --- the end of a frame -------------------------------------------------------------------------


def leave(state: State, value: Any) -> None:
    """Record that a frame returns; what its last line has changed is recorded."""
    states.pop(state.key, None)
    if state.plan.kind == _COMPREHENSION:
        _First.by_step = 1
    index = _value_of(value, state.step)
    _First.by_step = 0
    if state.is_cut:  # it may have changed anything
        _First.untraced += 1
        _First.now += 1
    _log.records.extend((_log.RETURN, state.number, state.step, index))
    _end(state)


def suspend(state: State, value: Any) -> None:
    """Record that a frame yields or awaits."""
    if state.is_cut:
        return
    _log.records.extend((_log.YIELD, state.step, _value_of(value, state.step)))
    if len(_log.records) > _log.BLOCK:  # a generator in one line has no steps but the first
        _look_at_clock(state)


def raised(state: State, error: Any, offset: int) -> None:
    """Record that an exception leaves, or is raised in, the current line of a frame."""
    if state.is_cut:
        return
    if type(error) is StopIteration and state.plan.opcode(offset) in ("FOR_ITER", "SEND"):
        return  # a generator has returned a value
    state.is_interrupted = True
    state.error = text = describe(error)
    _log.records.extend((_log.RAISE, state.step, _log.string(text)))


def unwind(state: State, error: str) -> None:
    """Record that an exception, described as *error*, leaves a frame."""
    states.pop(state.key, None)
    if len(left) > 10_000:
        left.clear()
    left[state.key] = -1 if state.is_cut else state.step
    _log.records.extend((_log.UNWIND, state.number, _log.string(error)))
    _end(state)


def describe(error: Any) -> str:
    """Return `Type: message` of an exception, without running its code."""
    kind = type(error)
    text = sys.modules["_freezeframe_text"].message(error)
    name = sys.modules["_freezeframe_objects"].name_of(kind)
    return f"{name}: {text}"[:500] if text else str(name)


def _end(state: State) -> None:
    """Let go of containers that only the frame held, once it is gone."""
    held = _identities.held_values
    if held and not held.keys().isdisjoint(state.values.values()):
        for index in state.values.values():
            if index in held:
                _identities.suspects.append(held[index])
    state.plan.live.pop(state.number, None)
