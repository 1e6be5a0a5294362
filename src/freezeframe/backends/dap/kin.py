"""Children of a debugged process: those that an adapter announces, those that call us."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from freezeframe.backends import backend as events
from freezeframe.backends.backend import Backend
from freezeframe.backends.transport.streams import Stream
from freezeframe.errors import DebuggerError

from .adapters._descriptor import ChildOffer, Dial, Plan, Reverse, Stdio

if TYPE_CHECKING:
    from .link import Link

log = logging.getLogger(__name__)


class MakeBackend(Protocol):
    def __call__(self, link: Link) -> Backend: ...


class Kin:
    """The children of one link. The root's takes in everyone who calls."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self.make_backend: MakeBackend | None = None
        #: links of processes that called, by pid
        self._by_pid: dict[int, Link] = {}

    # --- announced by the adapter

    def offer(self, offer: ChildOffer) -> None:
        """Offer a child that the adapter announced to the session; it gets a line of its own."""
        from .link import Link

        link = self._link
        if self.make_backend is None or link.plan is None:
            return
        stream: Stdio | Reverse | Dial = link.plan.stream
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
        link.emit(events.ChildStarted(self.make_backend(child), link.target, offer.pid, offer.name))

    async def start_debugging(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Serve the adapter's request of that name."""
        configuration = dict(arguments.get("configuration") or {})
        request = arguments.get("request", "launch")
        self.offer(ChildOffer(configuration, request, name=configuration.get("name")))
        return {}

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
            await child.dispose()
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
