"""Children of a debugged process: those that an adapter announces, those that call us."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from typing import TYPE_CHECKING, Any, Protocol

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Attach, Backend, Configuration, Core, Target
from freezeframe.backends.forks import Forks
from freezeframe.backends.transport.process import happened_or_gone
from freezeframe.backends.transport.processes import command_line
from freezeframe.backends.transport.streams import Stream
from freezeframe.errors import DebuggerError, NotFound, Unsupported

from .adapters._descriptor import ChildOffer, Dial, Plan, Reverse, Socket, Stdio

if TYPE_CHECKING:
    from .ground import Ground
    from .link import Link

log = logging.getLogger(__name__)

#: processes that the adapters of one session may ask for, and how deep within each other
_MOST_CHILDREN, _DEEPEST = 256, 16


class MakeBackend(Protocol):
    def __call__(self, link: Link) -> Backend: ...


class Kin:
    """The children of one link. The root's takes in everyone who calls."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.make_backend: MakeBackend | None = None
        #: links of processes that called, by pid
        self._by_pid: dict[int, Link] = {}
        #: processes that are expected to call, by pid
        self._expected: dict[int, asyncio.Event] = {}
        #: children that the program forked, and that a debugger of their own has
        self.living: set[int] = set()
        #: of such a child: what it stands on with its parent
        self.roof: Ground | None = None
        #: processes that adapters of this session asked us to start or to debug
        self.asked_for = 0

    @property
    def eldest(self) -> Link:
        """The first of the family that lives: what anyone in it prints is told by that one."""
        eldest = self._link
        while eldest.parent is not None and not eldest.parent.ended:
            eldest = eldest.parent
        return eldest

    # --- announced by the adapter

    def offer(self, offer: ChildOffer) -> None:
        """Offer a child that the adapter announced to the session; it gets a line of its own."""
        from .link import Link

        link = self._link
        if self.make_backend is None or link.plan is None:
            return
        stream: Stdio | Reverse | Dial | Socket = link.plan.stream
        if offer.host is not None and offer.port is not None:
            stream = Dial(offer.host, offer.port)
        spawn = link.plan.spawn if isinstance(stream, Stdio) else None
        child = Link(
            link.adapter,
            link.found,
            link.config,
            parent=link,
            plan=Plan(stream, offer.request, offer.arguments, spawn),
        )
        child.pid = offer.pid
        target: Target = link.target
        if offer.forked and offer.pid is not None:
            target = self._under_one_roof(child, offer.pid)
        link.emit(events.ChildStarted(self.make_backend(child), target, offer.pid, offer.name))

    # --- forked: stopped for us, under a debugger of their own

    def _under_one_roof(self, child: Link, pid: int) -> Attach:
        """Let a child share its parent's streams; returns how it is joined."""
        target, roof = self._link.target, self.roof or self._link.ground
        if roof is not None:
            roof.hold()
            child.kin.roof = roof
        self.living.add(pid)
        return Attach(
            pid=pid, program=target.program, cwd=target.cwd, env=target.env, forks=Forks.BOTH
        )

    @property
    def forked(self) -> bool:
        """This process was forked, and has a debugger of its own."""
        parent = self._link.parent
        return parent is not None and self._link.pid in parent.kin.living

    def ended(self) -> None:
        """This process is not debugged any more."""
        parent, pid = self._link.parent, self._link.pid
        if self.forked and parent is not None and pid is not None:
            if self._link.ends.left or not self._link.configured:
                # A debugger leaves a process as it found it: stopped.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGCONT)
            parent.kin.living.discard(pid)

    def release(self) -> None:
        """Let go of what it shares with its parent."""
        self.ended()
        roof, self.roof = self.roof, None
        if roof is not None:
            roof.release()

    async def start_debugging(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Serve the adapter's request of that name."""
        self.allow_one_more("startDebugging")
        configuration = dict(arguments.get("configuration") or {})
        request = arguments.get("request", "launch")
        self.offer(ChildOffer(configuration, request, name=configuration.get("name")))
        return {}

    def allow_one_more(self, what: str) -> None:
        """Count a process that an adapter asks for. Raises Unsupported beyond the bounds.

        An adapter whose children ask for children again would take all of the machine.
        """
        depth, root = 0, self._link
        while root.parent is not None:
            depth, root = depth + 1, root.parent
        root.kin.asked_for += 1
        if root.kin.asked_for > _MOST_CHILDREN or depth >= _DEEPEST:
            raise Unsupported(
                f"{what}: a session has at most {_MOST_CHILDREN} such processes, "
                f"{_DEEPEST} within each other.",
                next="dbg stop",
            )

    # --- calling by themselves

    async def take_in(self, stream: Stream) -> None:
        """A process called our port: a child, or this one after it replaced itself."""
        from .link import Link

        root = self._link
        child = Link(root.adapter, root.found, root.config, parent=root, stream=stream)
        child.ground = root.ground
        assert root.ground is not None
        root.ground.hold()
        child.open()
        try:
            await child.greet()
        except DebuggerError as error:
            # A stranger, or a child that ended at once: nobody waits for it.
            log.info("a connection was dropped: %s", error)
            await child.ends.dispose()
            return
        if root.ends.left:
            await _dismiss(child)
            return
        if child.pid is not None and child.pid == root.pid and root.replaced:
            root.ground.release()
            root.take_over(child.wire, stream)
            try:
                await root.configure_again()
            except DebuggerError as error:
                log.info("the program that replaced the first could not be debugged: %s", error)
            return
        parent = self._by_pid.get(child.ppid) if child.ppid is not None else None
        if child.pid is not None:
            self._by_pid[child.pid] = child
        if parent is None or parent.ended:
            parent = root
        assert self.make_backend is not None
        parent.emit(events.ChildStarted(self.make_backend(child), root.target, child.pid, None))
        if root.ground.process is not None:
            # It may leave our session and lose its parent before anyone looks again.
            root.ground.process.note_descendants()
        if child.pid in self._expected:
            self._expected[child.pid].set()

    async def settle(self) -> None:
        """Wait until each descendant that is about to call has called or is gone. Bounded.

        A process that was told our port at its start takes a moment to call it, and may well
        outlive its parent; were the port closed by then, it would never run.
        """
        root = self._link
        ground = root.ground
        if ground is None or ground.endpoint is None or ground.process is None:
            return
        if isinstance(root.target, Core) or not root.target.follow_children:
            return
        file = ground.endpoint.token_file
        callers = [
            pid
            for pid in ground.process.note_descendants()
            if pid not in self._by_pid and _was_told(pid, file)
        ]
        limit_s = root.config.timeouts.initialize_s
        await asyncio.gather(*(self._called_or_gone(pid, limit_s) for pid in callers))

    async def _called_or_gone(self, pid: int, limit_s: float) -> None:
        called = self._expected.setdefault(pid, asyncio.Event())
        await happened_or_gone(called, pid, timeout_s=limit_s)


def _was_told(pid: int, file: str) -> bool:
    """Where the secret lies stands on the command line of every process that will call our port."""
    try:
        return any(file in word for word in command_line(pid))
    except NotFound:
        return False


async def _dismiss(child: Link) -> None:
    """Let a process go on without a debugger; unanswered it would wait for ever."""
    try:
        await child.configure(Configuration(filters=()))
        await child.ends.detach()
    except DebuggerError as error:
        log.info("a process could not be let go: %s", error)
    await child.ends.dispose()
