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
_heap: Any = sys.modules["_freezeframe_heap"]
_plans: Any = sys.modules["_freezeframe_plans"]

_LOCAL, _GLOBAL, _NAME, _ATTRIBUTE, _ITEM, _ITEM_BY = range(6)
_MISSING = _identities.MISSING
_suspects = _identities.suspects
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
_VARARGS, _VARKEYWORDS = 0x04, 0x08
#: what `FrameKind` of the reader is, by index
_FUNCTION, _GENERATORS, _COROUTINES, _MODULE, _CLASS, _COMPREHENSION = range(6)
_COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class State:
    """A frame that is traced."""

    __slots__ = ("error", "flow", "is_interrupted", "namespace", "number", "plan", "record",
                 "step", "values")  # fmt: skip

    def __init__(self, number: int, plan: Any) -> None:
        self.number = number
        self.plan = plan
        #: the flow of the line that is executed; None before the first line
        self.flow: Any = None
        #: the number of the step that is executed
        self.step = -1
        #: an exception was raised in the line that is executed
        self.is_interrupted = False
        #: the description of the exception that was raised in the frame last
        self.error = ""
        #: name of a variable → (identity, index of its value)
        self.values: dict[str, Any] = {}
        #: the record of the module's namespace
        self.namespace: Any = None
        #: the record of the frame, without its arguments: written again in each segment
        self.record: tuple[int, ...] = ()


#: id of a frame → its state, while the frame is alive
states: dict[int, State] = {}
#: id of a frame → the step that an exception left it from
left: dict[int, int] = {}
_next_frame = iter(range(1, 1 << 62)).__next__
_next_step = iter(range(1, 1 << 62)).__next__
#: id of a code object → its plan, or None if it is not traced
plans: dict[int, Any] = {}
#: code objects, held so that their ids are not used again
_codes: list[Any] = []
_sources: dict[str, Any] = {}


class Settings:
    """What is traced, and when recording ends; set once at the beginning."""

    is_traced: Any = None
    #: path, line and number of hits of the line where recording ends
    until: Any = None
    hits = 0
    on_until: Any = None
    is_recording = True


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
        source = _sources[path] = _plans.read_source(path)
    until = Settings.until
    stop = until[1] if until and until[0] == path else None
    found = plans[key] = _plans.Plan(code, path, _kind_of(code), source, stop)
    return found


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
    index = plan.index = _log.next_value()
    string = _log.string
    _log.records.extend(
        (
            _log.CODE,
            index,
            string(getattr(code, "co_qualname", code.co_name)),
            string(plan.path),
            code.co_firstlineno,
            plan.kind,
        )
    )
    return int(index)


# --- frames -------------------------------------------------------------------------------------


def start(frame: Any, plan: Any) -> State:
    """Record the beginning of a frame, with its arguments."""
    state = State(_next_frame(), plan)
    states[id(frame)] = state
    back = frame.f_back
    caller = states.get(id(back)) if back is not None else None
    if caller is not None and caller.plan.code is not back.f_code:
        caller = None  # a generator that was closed without an event had this id
    position: tuple[int, ...] = (-1, -1, -1, -1)
    step = -1
    if caller is not None:
        step = caller.step
        position = caller.plan.position(back.f_lasti)
    code = plan.index if plan.index >= 0 else _code_index(plan)
    names = frame.f_globals
    state.namespace = namespace = _namespace(names)
    state.record = (state.number, step, *position, _thread_name(), _task_name(), namespace.number)
    arguments = _arguments(frame, plan, state)
    _log.records.extend((_log.FRAME, code, *state.record, len(arguments) // 2, *arguments))
    return state


def _namespace(names: Any) -> Any:
    made = _identities.known_of(names)
    if made.parts is None:
        made.parts = {}
        made.shape = -1  # never looked at as a whole
    return made


def _arguments(frame: Any, plan: Any, state: State) -> list[int]:
    code = plan.code
    flags = code.co_flags
    if not flags & 1:
        return []
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(flags & _VARARGS) + bool(flags & _VARKEYWORDS)
    if not count:
        return []
    found: list[int] = []
    local = frame.f_locals
    for name in code.co_varnames[:count]:
        value = local.get(name, _MISSING)
        if value is not _MISSING:
            index = _values.value_of(value)
            state.values[name] = (_identities.identity(value), index)
            found += (_log.string(name), index)
    return found


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
        thread, task = state.record[6:8]
        record = (*state.record[:6], _log.string(_names[thread]), _log.string(_names[task]), -1)
        _log.records.extend((_log.FRAME, code, *record, 0))


#: texts of threads and tasks, by their index when they were written
_names: dict[int, str] = {}


def _named(text: str) -> int:
    index = _log.string(text)
    _names[index] = text
    return int(index)


def _thread_name() -> int:
    module: Any = sys.modules.get("threading")
    found = module._active.get(_thread.get_ident()) if module is not None else None
    name = _identities.attribute(found, "_name") if found is not None else None
    return _named(name if type(name) is str else "MainThread")


def _task_name() -> int:
    module: Any = sys.modules.get("_asyncio")
    if module is None or module._get_running_loop() is None:
        return _named("")
    try:
        task = module.current_task()
        return _named(task.get_name() if type(task) is module.Task else "")
    except Exception:
        return _named("")


# --- lines --------------------------------------------------------------------------------------


def line(state: State, frame: Any, number: int) -> None:
    """Record that a frame begins to execute a line."""
    if _suspects:
        _identities.release()
    offset = frame.f_lasti
    flow = state.flow
    if flow is not None and not flow.plain:
        settle(state, frame, flow.end == offset)
    state.is_interrupted = False
    flow = state.plan.flows.get(offset)
    if flow is None:
        flow = state.plan.flow(offset, number)
    step = _next_step()
    state.flow, state.step = flow, step
    _log.records.extend((_log.STEP, step, state.number, number))
    if not flow.plain:
        if flow.nodes:
            _look(frame, state, flow, step, True)
        if flow.until:
            _count_hit()
    if not step & 1023:
        _log.file.steps = step
        _log.check()


def settle(state: State, frame: Any, is_complete: bool) -> None:
    """Record what the line that a frame has executed has changed."""
    flow, step = state.flow, state.step
    if state.is_interrupted:
        is_complete = False
    if flow.locals:
        local = frame.f_locals
        values = state.values
        for name, is_sure, _ in flow.locals:
            value = local.get(name, _MISSING)
            before = values.get(name)
            if value is _MISSING:
                if before is not None:
                    del values[name]
                    _log.records.extend(
                        (_log.WRITE, step, _log.string(name), -1, before[1], -1, -1, 1)
                    )
                continue
            mark = _identities.identity(value)
            if before is not None and before[0] is mark and not (is_sure and is_complete):
                continue
            index = _values.value_of(value)
            values[name] = (mark, index)
            was = -1
            if before is not None:
                was = before[1]
                if type(before[0]) is _identities.Known:
                    _identities.suspect(before[0])
            _log.records.extend((_log.WRITE, step, _log.string(name), index, was, -1, -1, 1))
    if flow.namespace:
        _settle_namespace(state, frame, is_complete)
    if flow.nodes:
        _look(frame, state, flow, step, False)


def _settle_namespace(state: State, frame: Any, is_complete: bool) -> None:
    names, made, step = frame.f_globals, state.namespace, state.step
    for name, is_sure in state.flow.namespace:
        value = names.get(name, _MISSING)
        part = "." + name
        before = made.parts.get(part)
        was = -1 if before is None else before[1]
        if value is _MISSING:
            if before is not None:
                del made.parts[part]
                _log.records.extend(
                    (_log.WRITE, step, _log.string(part), -1, was, made.number, -1, 1)
                )
            continue
        mark = _identities.identity(value)
        if before is not None and before[0] is mark and not (is_sure and is_complete):
            continue
        index = _values.value_of(value)
        made.parts[part] = (mark, index)
        _log.records.extend((_log.WRITE, step, _log.string(part), index, was, made.number, -1, 1))


def _look(frame: Any, state: State, flow: Any, step: int, is_before: bool) -> None:
    """Look at the objects that a line mentions, before or after it is executed.

    A change that is seen before was made by code that is not traced, or by other names.
    """
    local, names = frame.f_locals, frame.f_globals
    found: list[Any] = []
    owners: list[Any] = []
    by_step = 0 if is_before else 1
    for parent, kind, key, text, is_read, part in flow.nodes:
        owner = None
        if kind == _LOCAL:
            value = local.get(key, _MISSING)
        elif parent < 0:
            value = local.get(key, _MISSING) if kind == _NAME else _MISSING
            if value is _MISSING or local is names:
                value = names.get(key, _MISSING)
                owner = state.namespace
        else:
            value = found[parent]
            owner = owners[parent]
            if value is not _MISSING:
                if kind == _ATTRIBUTE:
                    value = _identities.attribute(value, key)
                else:
                    if kind == _ITEM_BY:
                        key = found[key]
                        if key is not _MISSING:
                            part = f"[{key!r}]" if type(key) in (int, str) else ""
                    if type(key) is int and key < 0 and type(value) in (list, tuple):
                        part = f"[{len(value) + key}]"
                    value = _identities.item(value, key)
        found.append(value)
        made = _identities.known_of(value) if value is not _MISSING else None
        owners.append(made)
        if value is _MISSING:
            continue
        if made is not None and made.shape >= 0:
            _heap.look(value, made, step, by_step)
        if owner is not None and part and parent >= 0 and part not in (owner.parts or ()):
            _heap.look_part(owner, part, value, step, by_step)
        if is_before and is_read and (made is not None or _identities.is_atom(value)):
            _log.records.extend(
                (
                    _log.READ,
                    step,
                    _log.string(text),
                    _values.value_read(value, made),
                    -1 if owner is None else owner.number,
                    _log.string(part),
                )
            )


def last_step() -> int:
    """Return the number of the last step; called once, at the end."""
    return int(_next_step()) - 1


def _count_hit() -> None:
    Settings.hits += 1
    if Settings.hits == Settings.until[2]:
        Settings.on_until()


# --- the end of a frame -------------------------------------------------------------------------


def leave(state: State, frame: Any, value: Any) -> None:
    """Record that a frame returns."""
    states.pop(id(frame), None)
    if state.flow is not None and not state.flow.plain:
        settle(state, frame, False)
    _log.records.extend((_log.RETURN, state.number, state.step, _values.value_of(value)))
    _suspect(state)


def suspend(state: State, frame: Any, value: Any) -> None:
    """Record that a frame yields or awaits."""
    if state.flow is not None and not state.flow.plain:
        settle(state, frame, False)
    _log.records.extend((_log.YIELD, state.step, _values.value_of(value)))


def raised(state: State, error: Any) -> None:
    """Record that an exception leaves, or is raised in, the current line of a frame."""
    state.is_interrupted = True
    state.error = text = describe(error)
    _log.records.extend((_log.RAISE, state.step, _log.string(text)))


def unwind(state: State, frame: Any, error: str) -> None:
    """Record that an exception, described as *error*, leaves a frame."""
    states.pop(id(frame), None)
    state.is_interrupted = True
    if state.flow is not None and not state.flow.plain:
        settle(state, frame, False)
    if len(left) > 10_000:
        left.clear()
    left[id(frame)] = state.step
    _log.records.extend((_log.UNWIND, state.number, _log.string(error)))
    _suspect(state)


def describe(error: Any) -> str:
    """Return `Type: message` of an exception, without running its code."""
    kind = type(error)
    text = sys.modules["_freezeframe_text"].message(error)
    name = sys.modules["_freezeframe_objects"].name_of(kind)
    return f"{name}: {text}"[:500] if text else str(name)


def _suspect(state: State) -> None:
    """Let go of containers that only the frame held, once it is gone."""
    for mark, _ in state.values.values():
        if type(mark) is _identities.Known:
            _identities.suspect(mark)
