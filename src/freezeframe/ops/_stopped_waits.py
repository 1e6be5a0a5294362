"""What the threads of a stopped program wait for, by their frames and the lines they are at.

For debuggers that do not report waits themselves. A lock that knows its owner names it (pthread
mutexes); for others the statements of each frame show which locks it has taken, and the addresses
of their expressions which lock that is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from freezeframe.backends.lock_waits import holder_id
from freezeframe.backends.raw_values import RawValue
from freezeframe.errors import DebuggerError, DebuggerLost
from freezeframe.model.calls import CallSite
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.stops import Frame, Thread
from freezeframe.model.waits import Hold, Wait, WaitFacts
from freezeframe.questions.held_locks import TakenLock, held_locks, lock_taken_at
from freezeframe.session.session import Session
from freezeframe.session.source_cache import function_block
from freezeframe.session.stop_state import StopState

from ._blocked_threads import waiting_for
from ._frames import site_of

_MOST_THREADS = 200
_DEEPEST = 60
#: user frames of a thread whose statements are read
_MOST_FRAMES = 8
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}|^\d{4,}")
#: a counted pointer of Rust
_SHARED = re.compile(r"(?:alloc::sync::|alloc::rc::)?(?:Arc|Rc)<")
#: names of library functions, or of states, and the kind of wait behind them
_KINDS = (
    (re.compile(r"mutex|rwlock|Mutex|lock_contended|monitor|ReentrantLock"), "lock"),
    (re.compile(r"join(?!ed)|WaitGroup"), "join"),
    (re.compile(r"cond_(?:timed|clock)?wait|Cond\.Wait|condition_variable|notified"), "condition"),
    (re.compile(r"chan (?:receive|send)|select"), "channel"),
    (re.compile(r"sleep"), "sleep"),
    (re.compile(r"wait4|waitpid|waitid"), "child"),
    (re.compile(r"IO wait|epoll|\bpoll|accept|recv|connect|read\b|write\b|send\b"), "io"),
    (re.compile(r"sem_(?:timed|clock)?wait|semacquire"), "semaphore"),
)
#: a lock that a thread's state names, with its holder, as the agent for Java writes it
_HELD = re.compile(
    r"(?:blocked on the monitor of|waiting for) (?P<lock>\S+)(?: held by thread (?P<holder>.+))?"
)
#: a thread that is waited for, by its id
_ENDING = re.compile(r"waiting to be notified on (?:\w*Thread)@(?P<id>\d+)")
#: states of a thread that runs
_RUNS = frozenset(("running", "stopped", ""))


@dataclass(frozen=True, slots=True)
class _Stack:
    thread: Thread
    frames: Sequence[Frame]
    #: the frames' ids, in the same order
    ids: Sequence[int]


async def stopped_waits(session: Session, stop: StopState) -> WaitFacts:
    """Return what the threads of a stopped program wait for, and the locks that they hold."""
    stacks = await _stacks(stop)
    waits: list[Wait] = []
    ids = {stack.thread.name: f"{stack.thread.id}" for stack in stacks}
    for stack in stacks:
        found = await _wait(session, stop, stack)
        waits += [_as_stated(found, ids)] if found is not None else []
    holds: list[Hold] = []
    if any(each.kind == "lock" for each in waits):
        for stack in stacks:
            holds += await _holds(session, stop, stack)
    return WaitFacts(tuple(waits), tuple(holds))


async def _stacks(stop: StopState) -> list[_Stack]:
    found = []
    for thread in (await stop.backend.threads())[:_MOST_THREADS]:
        try:
            raw, _ = await stop.backend.frames(thread.id, 0, _DEEPEST)
        except DebuggerLost:
            raise
        except DebuggerError:
            continue
        frames = [
            Frame(i, each.function, each.path, each.line, library=each.library, waits=each.waits)
            for i, each in enumerate(raw)
        ]
        if any(not frame.library for frame in frames):
            found.append(_Stack(thread, frames, [each.id for each in raw]))
    return found


async def _wait(session: Session, stop: StopState, stack: _Stack) -> Wait | None:
    """Return what a thread waits for; None if it runs."""
    at = next(frame.index for frame in stack.frames if not frame.library)
    own = stack.thread.state if stack.thread.state not in _RUNS else None
    what = own or waiting_for(stack.frames)
    if what in _RUNS or (own is None and at == 0):
        return None
    inner = " ".join([what, *(frame.function for frame in stack.frames[:at])])
    kind = next((kind for pattern, kind in _KINDS if pattern.search(inner)), "")
    site = site_of(stack.frames[at], session.sources)
    name = _name(stack.thread)
    wait = Wait(f"{stack.thread.id}", name, kind, what.removeprefix("in "), at=site)
    if kind == "lock" and _HELD.match(what) is None:
        return await _lock_wait(stop, stack, wait, at)
    return wait


def _as_stated(wait: Wait, ids: Mapping[str, str]) -> Wait:
    """Return a wait with the lock and the holder that the thread's state names."""
    held, ending = _HELD.match(wait.what), _ENDING.match(wait.what)
    if ending is not None and ending["id"] in ids.values():
        return replace(wait, kind="join", what="the end of a thread", targets=(ending["id"],))
    if held is None:
        return wait
    holder = ids.get(held["holder"] or "")
    taken = lock_taken_at(wait.at.text) if wait.at is not None else None
    named = f"{taken.text} ({held['lock']})" if taken is not None else held["lock"]
    return replace(
        wait,
        kind="lock" if holder is not None or wait.kind == "lock" else wait.kind,
        what=named,
        resource=held["lock"],
        targets=(holder,) if holder is not None else (),
    )


async def _lock_wait(stop: StopState, stack: _Stack, wait: Wait, at: int) -> Wait:
    texts = [frame.waits for frame in stack.frames[:at] if frame.waits]
    owner = next((id for each in texts if (id := holder_id(each, stack.thread.id))), None)
    taken = lock_taken_at(wait.at.text) if wait.at is not None else None
    resource = None
    if taken is not None:
        resource = await _address(stop, taken, stack.ids[at])
    return replace(
        wait,
        what=taken.text if taken is not None and taken.text else wait.what.partition(",")[0],
        resource=resource,
        targets=(f"{owner}",) if owner is not None else (),
    )


async def _holds(session: Session, stop: StopState, stack: _Stack) -> list[Hold]:
    """Return the locks that the statements of a thread's frames have taken."""
    found = []
    user = [frame for frame in stack.frames if not frame.library and frame.path and frame.line]
    for frame in user[:_MOST_FRAMES]:
        path, line = frame.path or "", frame.line or 0
        try:
            lines = session.sources.lines(path)
        except OSError:
            continue
        block = function_block(lines, line, frame.function)
        for taken in held_locks(lines, block, line):
            address = await _address(stop, taken, stack.ids[frame.index])
            if address is not None:
                text = lines[taken.line - 1].strip()
                site = CallSite(path, taken.line, frame.function, text)
                found.append(Hold(f"{stack.thread.id}", address, site))
    return found


async def _address(stop: StopState, taken: TakenLock, frame: int) -> str | None:
    """Return the address of a lock, as its expression has it in a frame."""
    declared = await _evaluated(stop, taken.text, frame)
    kind = (declared.type or "") if declared is not None else ""
    expression = taken.address
    if kind.startswith(("*", "&")):
        expression = taken.text  # a pointer, or a reference of Rust
    elif _SHARED.match(kind):
        expression = f"{taken.text}.ptr.pointer"
    for each in (f"uintptr(unsafe.Pointer({expression}))", expression):
        raw = await _evaluated(stop, each, frame)
        found = _ADDRESS.search(f"{raw.text} {raw.address or ''}") if raw is not None else None
        if found is not None:
            return f"{int(found[0], 0):#x}"
    return None


async def _evaluated(stop: StopState, expression: str, frame: int) -> RawValue | None:
    try:
        return await stop.backend.evaluate(expression, frame)
    except DebuggerLost:
        raise
    except DebuggerError:
        return None


def _name(thread: Thread) -> str:
    return f"thread {thread.id} ({thread.name})" if thread.name else f"thread {thread.id}"
