"""Child processes of a debuggee: announced by an adapter, or connecting to our port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from typing import TYPE_CHECKING, Any, Protocol

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Attach, Backend, Configuration, Core, Launch, Target
from freezeframe.backends.fork_modes import ForkMode
from freezeframe.backends.transport.process import happened_or_gone
from freezeframe.backends.transport.process_table import command_line
from freezeframe.backends.transport.streams import Stream
from freezeframe.errors import DebuggerError, NotFound, Unsupported

from .adapters._descriptor import ChildAttachInfo, Connect, ConnectUnix, Listen, Plan, Stdio

if TYPE_CHECKING:
    from .debuggee import Debuggee
    from .resources import DapResources

log = logging.getLogger(__name__)

#: Limits of processes that the adapters of one session may request: number and nesting depth.
_MOST_CHILDREN, _DEEPEST = 256, 16


class MakeBackend(Protocol):
    def __call__(self, debuggee: Debuggee) -> Backend: ...


class ChildProcesses:
    """The children of one debuggee. The root's accepts every connection."""

    def __init__(self, debuggee: Debuggee) -> None:
        self._debuggee = debuggee
        self.make_backend: MakeBackend | None = None
        #: debuggees that connected, by pid
        self._by_pid: dict[int, Debuggee] = {}
        #: processes that are expected to connect, by pid
        self._expected: dict[int, asyncio.Event] = {}
        #: forked children, each debugged by an adapter of its own
        self.forked_pids: set[int] = set()
        #: of a forked child: the resources shared with its parent
        self.shared_resources: DapResources | None = None
        #: processes that adapters of this session asked us to start or to debug
        self.requested_count = 0

    @property
    def output_owner(self) -> Debuggee:
        """The outermost live ancestor, which reports the output of the whole process tree."""
        root = self._debuggee
        while root.parent is not None and not root.parent.ended:
            root = root.parent
        return root

    # --- announced by the adapter

    def offer(self, offer: ChildAttachInfo) -> None:
        """Announce a child to the session; the child gets a connection of its own."""
        debuggee = self._debuggee
        if self.make_backend is None or debuggee.plan is None:
            return
        stream: Stdio | Listen | Connect | ConnectUnix = debuggee.plan.stream
        if offer.host is not None and offer.port is not None:
            stream = Connect(offer.host, offer.port)
        spawn = debuggee.plan.spawn if isinstance(stream, Stdio) else None
        child = debuggee.make_child(plan=Plan(stream, offer.request, offer.arguments, spawn))
        child.pid = offer.pid
        target: Target = debuggee.target
        if offer.forked and offer.pid is not None:
            target = self._share_resources(child, offer.pid)
        debuggee.emit(events.ChildStarted(self.make_backend(child), target, offer.pid, offer.name))

    # --- forked children, each with an adapter of its own

    def _share_resources(self, child: Debuggee, pid: int) -> Attach:
        """Share the parent's streams with a child. Return the target to attach to it."""
        target, shared = self._debuggee.target, self.shared_resources or self._debuggee.resources
        if shared is not None:
            shared.hold()
            child.children.shared_resources = shared
        self.forked_pids.add(pid)
        return Attach(
            pid=pid, program=target.program, cwd=target.cwd, env=target.env, forks=ForkMode.BOTH
        )

    @property
    def forked(self) -> bool:
        """Whether this process was forked and has an adapter of its own."""
        parent = self._debuggee.parent
        return parent is not None and self._debuggee.pid in parent.children.forked_pids

    def ended(self) -> None:
        """Note that this process is no longer debugged."""
        parent, pid = self._debuggee.parent, self._debuggee.pid
        if self.forked and parent is not None and pid is not None:
            if self._debuggee.termination.lifetime.detached or not self._debuggee.configured:
                # The debugger detaches from a process in the state it found: stopped.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGCONT)
            parent.children.forked_pids.discard(pid)

    def release(self) -> None:
        """Release the resources shared with the parent."""
        self.ended()
        shared, self.shared_resources = self.shared_resources, None
        if shared is not None:
            shared.release()

    async def start_debugging(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Handle the adapter's `startDebugging` request."""
        self.check_process_limit("startDebugging")
        configuration = dict(arguments.get("configuration") or {})
        request = arguments.get("request", "launch")
        self.offer(ChildAttachInfo(configuration, request, name=configuration.get("name")))
        return {}

    def check_process_limit(self, request: str) -> None:
        """Count a process that an adapter requests. Raises Unsupported beyond the limits.

        An adapter whose children request children in turn would exhaust the machine.
        """
        depth, root = 0, self._debuggee
        while root.parent is not None:
            depth, root = depth + 1, root.parent
        root.children.requested_count += 1
        if root.children.requested_count > _MOST_CHILDREN or depth >= _DEEPEST:
            raise Unsupported(
                f"{request}: a session has at most {_MOST_CHILDREN} such processes, "
                f"{_DEEPEST} within each other.",
                next="dbg stop",
            )

    # --- connecting by themselves

    async def accept(self, stream: Stream) -> None:
        """Accept a connection to our port: from a child, or from this process after an exec."""
        root = self._debuggee
        child = root.make_child(stream=stream)
        child.resources = root.resources
        assert root.resources is not None
        root.resources.hold()
        child.open()
        try:
            await child.authenticate()
        except DebuggerError as error:
            # An unrelated process, or a child that ended at once: nothing waits for it.
            log.info("a connection was dropped: %s", error)
            await child.termination.dispose()
            return
        if root.termination.lifetime.detached:
            await _detach_unwanted(child)
            return
        if child.pid is not None and child.pid == root.pid and root.replaced:
            root.resources.release()
            root.take_over(child.channel, stream)
            try:
                await root.configure_again()
            except DebuggerError as error:
                log.info("the program that replaced the first could not be debugged: %s", error)
            return
        target = root.target
        if isinstance(target, Launch):
            target = target.of_child(first=not self._by_pid)
        parent = self._by_pid.get(child.ppid) if child.ppid is not None else None
        if child.pid is not None:
            self._by_pid[child.pid] = child
        if parent is None or parent.ended:
            parent = root
        assert self.make_backend is not None
        parent.emit(events.ChildStarted(self.make_backend(child), target, child.pid, None))
        if root.resources.process is not None:
            # The child may start a new session and lose its parent before the next look.
            root.resources.process.note_descendants()
        if child.pid in self._expected:
            self._expected[child.pid].set()

    async def settle(self) -> None:
        """Wait until each descendant that will connect has connected or is gone. Bounded.

        A process that got our port at its start connects a moment later, and may outlive its
        parent. If the port were closed by then, the process would never run.
        """
        root = self._debuggee
        resources = root.resources
        if resources is None or resources.endpoint is None or resources.process is None:
            return
        if isinstance(root.target, Core) or not root.target.follow_children:
            return
        file = resources.endpoint.token_file
        connecting = [
            pid
            for pid in resources.process.note_descendants()
            if pid not in self._by_pid and _knows_port(pid, file)
        ]
        limit_s = root.config.timeouts.initialize_s
        await asyncio.gather(*(self._wait_connected_or_gone(pid, limit_s) for pid in connecting))

    async def _wait_connected_or_gone(self, pid: int, limit_s: float) -> None:
        connected = self._expected.setdefault(pid, asyncio.Event())
        await happened_or_gone(connected, pid, timeout_s=limit_s)


def _knows_port(pid: int, file: str) -> bool:
    """Whether a process will connect: the token file is on its command line."""
    try:
        return any(file in word for word in command_line(pid))
    except NotFound:
        return False


async def _detach_unwanted(child: Debuggee) -> None:
    """Detach from a process that connected; unanswered it would wait forever."""
    try:
        await child.configure(Configuration(filters=()))
        await child.termination.detach()
    except DebuggerError as error:
        log.info("a process could not be detached: %s", error)
    await child.termination.dispose()
