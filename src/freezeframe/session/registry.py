"""All workspaces and sessions of a daemon."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from freezeframe.backends.backend import Attach, Backend, Launch, Target
from freezeframe.config import Config
from freezeframe.errors import NoSession
from freezeframe.model.answers import SessionInfo
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.stops import Breakpoint, ExceptionFilter

from .breakpoints import LogicalBreakpoint, LogicalBreakpoints, describe_best
from .command_log import CommandLog
from .displays import Displays
from .session import EventObserver, MakeBackend, Session
from .source_cache import Sources

if TYPE_CHECKING:
    from freezeframe.backends.selection import DebuggerChoice

#: Directories that identify the root of a repository.
_REPOSITORY_DIRECTORIES = (".git", ".hg", ".jj", ".svn")


class PageProcess(Protocol):
    """A process that serves the live page of a workspace."""

    #: with the token
    link: str

    @property
    def running(self) -> bool: ...


@dataclass(slots=True)
class Workspace:
    """A project: its breakpoints, its exception filters, its sessions.

    Everything here outlives a session and belongs to one project only.
    """

    root: str
    breakpoints: LogicalBreakpoints = field(default_factory=LogicalBreakpoints)
    #: filters that the user chose; None: the debugger's defaults
    filters: list[ExceptionFilter] | None = None
    displays: Displays = field(default_factory=Displays)
    sessions: dict[str, Session] = field(default_factory=dict)
    #: name of the selected session or child
    current: str | None = None
    #: how each session was launched, for `restart` after `stop`; newest last
    launches: dict[str, tuple[Launch, DebuggerChoice]] = field(default_factory=dict)
    commands: CommandLog = field(default_factory=CommandLog)
    #: the process that serves the live page, if one was started
    page: PageProcess | None = None
    #: held while a command changes breakpoints
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def session(self) -> Session | None:
        """Return the current session, which may be a child; None if there is none."""
        if self.current is None:
            return None
        for root in self.sessions.values():
            for member in root.tree():
                if member.name == self.current:
                    return member
        root_name = self.current.partition("/")[0]
        return self.sessions.get(root_name)

    def live_sessions(self) -> list[Session]:
        """Return every live session, children included."""
        return [m for root in self.sessions.values() for m in root.tree() if m.live]

    async def apply(self, changed: list[LogicalBreakpoint]) -> None:
        """Apply changed breakpoints to every live session."""
        for session in self.live_sessions():
            await session.apply(changed)

    async def remove_breakpoints(self, entries: list[LogicalBreakpoint]) -> None:
        """Remove breakpoints from the workspace and from every live session."""
        for entry in entries:
            self.breakpoints.entries.pop(entry.id, None)
        await self.apply(entries)

    async def remove_ended_breakpoints(self, starting: str, *, again: bool = False) -> None:
        """Remove the breakpoints of sessions that have ended or that *starting* replaces.

        *again*: it is the same session, which keeps its own.
        """
        live = {session.name for session in self.live_sessions()}
        kept = live | {starting} if again else live - {starting}
        ended = [e for e in self.breakpoints if e.owner is not None and e.owner not in kept]
        if ended:
            async with self.lock:
                await self.remove_breakpoints(ended)

    def describe(self, entry: LogicalBreakpoint) -> Breakpoint:
        """Return a breakpoint with its best binding among the live sessions."""
        return describe_best(
            entry, (s.bound_breakpoints.get(entry.id) for s in self.live_sessions())
        )


@dataclass(slots=True)
class SessionRegistry:
    """All workspaces. Finds the session that a command applies to."""

    config: Config
    sources: Sources = field(default_factory=Sources)
    workspaces: dict[str, Workspace] = field(default_factory=dict)
    on_change: Callable[[Session], None] = lambda session: None
    #: called with every event of every session
    observer: EventObserver = lambda session, event: None
    #: backends of programs that were detached from
    detached: list[Backend] = field(default_factory=list)
    #: builds and installations that outlive the request that started them
    background_work: dict[tuple[object, ...], asyncio.Task[Any]] = field(default_factory=dict)

    def workspace(self, cwd: str) -> Workspace:
        """Return the workspace of a directory: its repository's root, or the directory itself.

        A directory below a workspace that has sessions belongs to that workspace.
        """
        root = workspace_root(cwd)
        if root not in self.workspaces:
            above = root
            while (parent := os.path.dirname(above)) != above:
                above = parent
                known = self.workspaces.get(above)
                if known is not None and known.sessions:
                    return known
        return self.workspaces.setdefault(root, Workspace(root))

    def roots(self) -> Iterator[Session]:
        for workspace in self.workspaces.values():
            yield from workspace.sessions.values()

    def workspace_of(self, session: Session) -> Workspace:
        root = session.root
        return next(w for w in self.workspaces.values() if w.sessions.get(root.name) is root)

    def find(self, name: str | None, workspace: Workspace) -> Session:
        """Return the session called *name*, in this workspace first; without a name the current
        one.

        Raises NoSession with the names that exist.
        """
        if name is None:
            session = workspace.session()
            if session is None:
                raise NoSession(
                    f"there is no session in {workspace.root}.{self._elsewhere(workspace)}",
                    next="dbg restart" if workspace.launches else "dbg start PROGRAM -b FILE:LINE",
                )
            return session.focus()
        candidates = [
            member
            for root in workspace.sessions.values()
            for member in root.tree()
            if member.name == name
        ] or [m for root in self.roots() for m in root.tree() if m.name == name]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise NoSession(
                f"{len(candidates)} workspaces have a session {name}; "
                "run the command in the directory of the one you mean.",
                next="dbg sessions --everywhere",
            )
        have = ", ".join(m.name for root in self.roots() for m in root.tree())
        raise NoSession(
            f"there is no session {name}" + (f"; there are {have}." if have else "."),
            next="dbg sessions",
        )

    def _elsewhere(self, workspace: Workspace) -> str:
        others = [w for w in self.workspaces.values() if w is not workspace and w.sessions]
        if not others:
            return ""
        names = ", ".join(f"{n} in {w.root}" for w in others for n in w.sessions)
        return f" Elsewhere: {names}."

    def create(
        self, workspace: Workspace, name: str, make_backend: MakeBackend, reason: str
    ) -> Session:
        """Add a session to its workspace and make it the current one."""
        session = Session(
            name,
            breakpoints=workspace.breakpoints,
            config=self.config,
            sources=self.sources,
            make_backend=make_backend,
            reason=reason,
            on_change=self.on_change,
            apply_to_workspace=workspace.apply,
            filters=lambda: workspace.filters,
            observer=self.observer,
        )
        workspace.sessions[name] = session
        workspace.current = name
        return session

    def remove(self, session: Session) -> None:
        """Remove a session and its children; the newest remaining one becomes current.

        Does nothing for a session that another command has removed already.
        """
        root = session.root
        session.disposed = True
        if root is not session:
            parent = session.parent
            if parent is not None and session in parent.children:
                parent.children.remove(session)
            return
        workspace = next(
            (w for w in self.workspaces.values() if w.sessions.get(root.name) is root), None
        )
        if workspace is None:
            return
        del workspace.sessions[root.name]
        if workspace.session() is None:
            workspace.current = next(reversed(workspace.sessions), None)
        self.on_change(root)

    @property
    def busy(self) -> bool:
        """Whether the daemon must stay: for a live session, or for a detached program that still
        writes into pipes of the daemon."""
        self.detached = [backend for backend in self.detached if backend.has_detached_output]
        return bool(self.detached) or any(root.any_live for root in self.roots())

    @property
    def working(self) -> bool:
        """Whether there is background work whose caller will ask for it again."""
        return any(not work.done() for work in self.background_work.values())

    async def close(self, why: str = "") -> None:
        """End every session. Bounded; never raises.

        *why* is a clause for callers that wait for a session: "the daemon received SIGTERM".
        """
        for work in list(self.background_work.values()):
            work.cancel()
        for root in list(self.roots()):
            root.end_reason = why
        for root in list(self.roots()):
            await root.dispose()
        self.workspaces.clear()

    def info(self, session: Session, workspace: Workspace, now: float) -> SessionInfo:
        """Return what `status` and `sessions` show of one session."""
        target, stop = session.target, session.current_stop
        frame = stop.thread.frame if stop is not None else None
        program = " ".join(session.command) or _program_of(target)
        here = self.workspace_of(session)
        current = here.session()
        return SessionInfo(
            name=session.name,
            state=session.phase.value,
            program=program,
            current=here is workspace and current is not None and current.focus() is session,
            workspace=here.root,
            pid=session.pid,
            debugger=str(session.backend.tool) if session.backend is not None else None,
            place=f"{frame.path}:{frame.line}" if frame is not None and frame.path else None,
            function=frame.function if frame is not None else None,
            reason=stop.event.reason.value if stop is not None else None,
            exit=session.exit,
            parent=session.parent.name if session.parent is not None else None,
            age_s=now - session.created,
            command=session.command or (program, *getattr(target, "args", ())),
            simulator=target.simulator if isinstance(target, Attach) else None,
        )


def _program_of(target: Target | None) -> str:
    if isinstance(target, Launch):
        return target.named
    return getattr(target, "program", None) or ""


def workspace_root(cwd: str) -> str:
    """Return the root of the repository above *cwd*, or *cwd* itself.

    The home directory and / never count as a project that contains what is below them.
    """
    home = os.path.expanduser("~")
    directory = cwd
    while True:
        if any(os.path.exists(os.path.join(directory, name)) for name in _REPOSITORY_DIRECTORIES):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory or directory == home:
            return cwd
        directory = parent
