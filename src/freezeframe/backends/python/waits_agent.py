"""What threads and tasks wait for, and the locks that they hold; runs inside the program.

Becomes the module `_freezeframe_waits`. Works in every Python from 3.8 on, imports nothing of this
package, and runs no code of the program: names and fields are read, nothing is called.
"""

from __future__ import annotations

import linecache
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_objects: Any = sys.modules["_freezeframe_objects"]
_locks: Any = sys.modules["_freezeframe_locks"]
_stacks: Any = sys.modules["_freezeframe_stacks"]
_tasks: Any = sys.modules["_freezeframe_tasks"]
#: by the name of a library's module: the functions that wait, and what for
_KNOWN = {
    "threading": {
        "Thread.join": "join",
        "Event.wait": "event",
        "Condition.wait_for": "condition",
        "Condition.wait": "condition",
        "Semaphore.acquire": "semaphore",
        "Barrier.wait": "barrier",
        "_shutdown": "exit",
    },
    "queue": {"Queue.get": "queue", "Queue.put": "queue", "Queue.join": "queue"},
    "concurrent.futures._base": {"Future.result": "future", "Future.exception": "future"},
    "subprocess": {
        "Popen.wait": "child",
        "Popen.communicate": "child",
        "run": "child",
    },
    "multiprocessing.process": {"BaseProcess.join": "child"},
    "asyncio.locks": {
        "Lock.acquire": "lock",
        "Semaphore.acquire": "semaphore",
        "Event.wait": "event",
        "Condition.wait": "condition",
        "Barrier.wait": "barrier",
    },
    "asyncio.queues": {"Queue.get": "queue", "Queue.put": "queue", "Queue.join": "queue"},
    "asyncio.taskgroups": {"TaskGroup.__aexit__": "group"},
    "asyncio.tasks": {"sleep": "sleep"},
    "asyncio.streams": {"StreamReader.read": "io", "StreamReader.readline": "io"},
}


def facts(is_library: Callable[[str], bool], is_hidden: Callable[[Any], bool]) -> dict[str, Any]:
    """Return every wait of this process, and every lock whose holder the statements show."""
    waits: list[dict[str, Any]] = []
    holds: list[dict[str, Any]] = []
    stacks = list(_stacks.of_threads(is_hidden))
    running = {id(frames[-1]) for _, frames in stacks}
    for thread, frames in stacks:
        found = _Waiting(f"thread {thread.ident}", str(thread.name), frames, is_library)
        wait = found.of_thread(stacks)
        if wait is not None and (wait["kind"] or _stacks._asleep(thread) is not False):
            waits.append(wait)
        holds += found.holds()
    for task in _tasks.all_tasks()[:200]:
        coroutine = _tasks.coroutine_of(task)
        frames = _tasks.chain(coroutine)[::-1]
        if not frames or id(frames[0]) in running:
            continue
        found = _Waiting(f"task {id(task)}", f"task {_tasks.name_of(task)}", frames, is_library)
        wait = found.of_task(task)
        if wait is not None:
            waits.append(wait)
        holds += found.holds()
    return {"waits": waits, "holds": holds}


class _Waiting:
    """One thread or suspended task: its frames, innermost first."""

    def __init__(
        self, key: str, name: str, frames: list[Any], is_library: Callable[[str], bool]
    ) -> None:
        self.key, self.name, self.frames = key, name, frames
        self.is_library = is_library
        own = (i for i, each in enumerate(frames) if not is_library(each.f_code.co_filename))
        self.at: int | None = next(own, None)
        #: the lock that `Condition.wait` has released meanwhile
        self.released: int | None = None

    def of_thread(self, stacks: list[Any]) -> dict[str, Any] | None:
        """Return the wait of a thread; None if it runs, or serves an event loop."""
        inner = self.frames if self.at is None else self.frames[: self.at]
        self._note_released(inner)
        for frame in reversed(inner):
            kind = _known(frame)
            if kind is not None:
                return self._wait(kind, **_details(kind, frame, stacks))
        if self.at is None or any(_is_event_loop(each) for each in inner):
            return None
        called = _stacks._waits(self.frames, self.frames[self.at])
        if inner:
            return self._wait("", what=called)
        return self._in_statement(called)

    def of_task(self, task: Any) -> dict[str, Any] | None:
        future = _tasks._field(task, "_fut_waiter")
        if future is None:
            return None
        inner = self.frames if self.at is None else self.frames[: self.at]
        self._note_released(inner)
        text = _tasks._awaited(future, self.frames[::-1], self.is_library)
        if _tasks._is_task(future):
            return self._wait("task", what=text, targets=[f"task {id(future)}"])
        if type(future).__name__ == "_GatheringFuture":
            children = [each for each in getattr(future, "_children", ()) if _tasks._is_task(each)]
            waiting = [each for each in children if not _tasks._field(each, "done")()]
            return self._wait("task", what=text, targets=[f"task {id(each)}" for each in waiting])
        for frame in reversed(inner):
            kind = _known(frame)
            if kind is not None:
                found = {**_details(kind, frame, []), "what": text}
                if kind in ("lock", "semaphore") and self.at is not None:
                    name = _locks.entered_name(self.frames[self.at], frame.f_locals.get("self"))
                    found["what"] = name or text
                return self._wait(kind, **found)
        return self._wait("future" if text == "Future" else "", what=text)

    def _note_released(self, inner: list[Any]) -> None:
        for frame in inner:
            if _known(frame) == "condition" and frame.f_code.co_name == "wait":
                lock = _locks.field(frame.f_locals.get("self"), "_lock")
                self.released = None if lock is _locks.MISSING else id(lock)

    def _in_statement(self, called: str | None) -> dict[str, Any] | None:
        """Return the wait of a thread whose innermost frame is the user's: a call into C."""
        frame = self.frames[0]
        if called is None:
            return None
        head = called.partition("(")[0]
        if head in ("time.sleep", "sleep"):
            return self._wait("sleep", what=called)
        if head == "input" or "stdin" in head:
            return self._wait("input", what=called)
        if head in ("os.wait", "os.waitpid"):
            return self._wait("child", what=called)
        for expression in _locks.lock_expressions(called, frame):
            value = _locks.value_of(expression, frame)
            lock = _locks.lock_in(value)
            if lock is not None:
                return self._wait(
                    "lock", what=_locks.ast_text(expression), **_locks.lock_facts(lock)
                )
        return self._wait("", what=called)

    def _wait(self, kind: str, **facts: Any) -> dict[str, Any]:
        at = self.frames[self.at] if self.at is not None else None
        return {
            "waiter": self.key,
            "name": self.name,
            "kind": kind,
            "what": None,
            "resource": None,
            "targets": [],
            "any": False,
            "detail": "",
            **{name: value for name, value in facts.items() if value is not None},
            "at": _site(at),
        }

    def holds(self) -> Iterator[dict[str, Any]]:
        """Yield the locks that the statements around each frame's line hold."""
        seen: set[int] = set()
        for frame in self.frames:
            if self.is_library(frame.f_code.co_filename):
                continue
            for expression, line, certain in _locks.held_expressions(frame):
                value = _locks.value_of(expression, frame)
                lock = _locks.lock_in(value)
                if lock is None or id(lock) == self.released or not _locks.is_locked(lock):
                    continue
                if id(lock) not in seen:
                    seen.add(id(lock))
                    yield {
                        "holder": self.key,
                        "resource": str(id(lock)),
                        "certain": certain and lock is value,
                        "at": _site(frame, line),
                    }


# --- functions of libraries that wait -------------------------------------------------------------


def _known(frame: Any) -> str | None:
    module = frame.f_globals.get("__name__")
    functions = _KNOWN.get(module) if type(module) is str else None
    if functions is None:
        return None
    name = frame.f_code.co_name
    qualified = getattr(frame.f_code, "co_qualname", None)
    for known, kind in functions.items():
        if known == (qualified or known) and known.rpartition(".")[2] == name:
            return kind
    return None


def _is_event_loop(frame: Any) -> bool:
    module = str(frame.f_globals.get("__name__"))
    return module.startswith(("asyncio.", "trio.", "uvloop"))


def _details(kind: str, frame: Any, stacks: list[Any]) -> dict[str, Any]:
    """Return what the object of a waiting library function shows."""
    owner = frame.f_locals.get("self")
    function = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    found: dict[str, Any] = {"what": f"{package}.{function}"}
    make = _DETAILS.get(kind)
    if make is not None:
        found.update(make(owner, frame, stacks))
    return found


def _of_join(owner: Any, frame: Any, stacks: list[Any]) -> dict[str, Any]:
    name, ident = _locks.field(owner, "_name"), _locks.field(owner, "_ident")
    if type(ident) is not int:
        return {}
    return {"what": f"the end of {name}", "targets": [f"thread {ident}"]}


def _of_exit(owner: Any, frame: Any, stacks: list[Any]) -> dict[str, Any]:
    main = threading.main_thread().ident
    others = [
        thread.ident
        for thread, _ in stacks
        if thread.ident != main and _locks.field(thread, "_daemonic") is False
    ]
    what = "the end of all threads, to exit"
    return {"what": what, "targets": [f"thread {each}" for each in others]}


def _of_lock(owner: Any, frame: Any, stacks: list[Any]) -> dict[str, Any]:
    return {"resource": str(id(owner))}


def _either(owner: Any, name: str, other: str) -> Any:
    found = _locks.field(owner, name)
    return _locks.field(owner, other) if found is _locks.MISSING else found


def _of_queue(owner: Any, frame: Any, stacks: list[Any]) -> dict[str, Any]:
    unfinished = _locks.field(owner, "unfinished_tasks")
    unfinished = (
        _locks.field(owner, "_unfinished_tasks") if unfinished is _locks.MISSING else unfinished
    )
    items = _locks.field(owner, "queue")
    items = _locks.field(owner, "_queue") if items is _locks.MISSING else items
    held = _objects.count(items) if items is not _locks.MISSING else None
    parts = []
    if frame.f_code.co_name == "join" and type(unfinished) is int:
        parts.append(f"{unfinished} without task_done()")
    if held is not None:
        parts.append(f"{held} in the queue")
    return {"resource": str(id(owner)), "detail": ", ".join(parts)}


def _of_barrier(owner: Any, frame: Any, stacks: list[Any]) -> dict[str, Any]:
    parties, count = _locks.field(owner, "_parties"), _locks.field(owner, "_count")
    if type(parties) is not int or type(count) is not int:
        return {}
    return {"detail": f"{count} of {parties} have come"}


def _of_group(owner: Any, frame: Any, stacks: list[Any]) -> dict[str, Any]:
    members = _locks.field(owner, "_tasks")
    if type(members) is not set:
        return {}
    return {"targets": [f"task {id(each)}" for each in list(members)]}


def _of_future(owner: Any, frame: Any, stacks: list[Any]) -> dict[str, Any]:
    """Return who runs a future; if nobody does, the workers of the pools, one of which must."""
    state = _locks.field(owner, "_state")
    workers = []
    for thread, frames in stacks:
        for each in frames:
            if each.f_code.co_name != "_worker" or "work_item" not in each.f_code.co_varnames:
                continue
            item = each.f_locals.get("work_item")
            if _locks.field(item, "future") is owner:
                return {"detail": f"{state}", "targets": [f"thread {thread.ident}"]}
            workers.append(f"thread {thread.ident}")
    detail = f"{state}" if type(state) is str else ""
    if state != "PENDING" or not workers:
        return {"detail": detail}
    pools = {id(each.f_locals.get("work_queue")) for _, f in stacks for each in f[-4:]}
    pools.discard(id(None))
    if len(pools) != 1:
        return {"detail": detail}
    count = len(workers)
    detail = f"{state}: no worker has begun it, the pool has {count}"
    return {"detail": detail, "targets": workers, "any": True}


def _of_child(owner: Any, frame: Any, stacks: list[Any]) -> dict[str, Any]:
    process = owner if owner is not None else frame.f_locals.get("process")
    pid = _locks.field(process, "pid")
    pid = _locks.field(_locks.field(process, "_popen"), "pid") if pid is _locks.MISSING else pid
    arguments = _locks.field(process, "args")
    shown = arguments if type(arguments) is str else ""
    if type(arguments) in (list, tuple):
        shown = " ".join(each for each in arguments if type(each) is str)
    return {"what": f"the child process {pid} {shown}".strip()[:120]} if type(pid) is int else {}


_DETAILS = {
    "join": _of_join,
    "exit": _of_exit,
    "lock": _of_lock,
    "semaphore": _of_lock,
    "queue": _of_queue,
    "barrier": _of_barrier,
    "group": _of_group,
    "future": _of_future,
    "child": _of_child,
}


def _site(frame: Any, line: int | None = None) -> dict[str, Any] | None:
    if frame is None:
        return None
    path = frame.f_code.co_filename
    number = line or frame.f_lineno
    return {
        "path": path if path.startswith("<") else os.path.abspath(path),
        "line": number,
        "function": str(getattr(frame.f_code, "co_qualname", frame.f_code.co_name)),
        "text": linecache.getline(path, number or 0).strip(),
    }
