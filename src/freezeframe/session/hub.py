"""Every workspace and session of a daemon."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from freezeframe.backends.backend import Backend, Launch, Target
from freezeframe.backends.select import Choice
from freezeframe.config import Config
from freezeframe.errors import NoSession
from freezeframe.model.answers import SessionInfo
from freezeframe.model.stops import Breakpoint, ExceptionFilter

from .breakpoints import Book, Wanted, describe_best
from .displays import Displays
from .session import MakeBackend, Session, Witness
from .sources import Sources

#: What marks the root of a repository.
_ROOT_MARKS = (".git", ".hg", ".jj", ".svn")


@dataclass(slots=True)
class Workspace:
    """A project: its breakpoints, its exception filters, its sessions.

    Everything here outlives a session; nothing here is shared with another project.
    """

    root: str
    book: Book = field(default_factory=Book)
    #: filters by name that the user chose; None: the debugger's own defaults
    filters: list[ExceptionFilter] | None = None
    displays: Displays = field(default_factory=Displays)
    sessions: dict[str, Session] = field(default_factory=dict)
    #: name of a session, or of a child that the user chose
    current: str | None = None
    #: how each session was started, for `restart` after `stop`; the last one last
    launches: dict[str, tuple[Launch, Choice]] = field(default_factory=dict)
    #: breakpoints are changed by one command at a time
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def session(self) -> Session | None:
        """Return the session that commands without a name speak to, children included."""
        if self.current is None:
            return None
        for root in self.sessions.values():
            for member in root.members():
                if member.name == self.current:
                    return member
        root_name = self.current.partition("/")[0]
        return self.sessions.get(root_name)

    def live_sessions(self) -> list[Session]:
        """Every session, children included, that a breakpoint must be told to."""
        return [m for root in self.sessions.values() for m in root.members() if m.live]

    async def apply(self, changed: list[Wanted]) -> None:
        """Tell every live session about changed breakpoints."""
        for session in self.live_sessions():
            await session.apply(changed)

    async def drop(self, entries: list[Wanted]) -> None:
        """Take breakpoints away from the workspace and from every live session."""
        for entry in entries:
            self.book.wanted.pop(entry.id, None)
        await self.apply(entries)

    async def drop_owned(self, starting: str) -> None:
        """Take away the breakpoints of sessions that are over, or that *starting* replaces."""
        live = {session.name for session in self.live_sessions()} - {starting}
        ended = [e for e in self.book if e.owner is not None and e.owner not in live]
        if ended:
            async with self.lock:
                await self.drop(ended)

    def describe(self, entry: Wanted) -> Breakpoint:
        """Return a breakpoint with what the debuggers here made of it: the best news counts."""
        return describe_best(entry, (s.bindings.get(entry.id) for s in self.live_sessions()))


@dataclass(slots=True)
class Hub:
    """All workspaces; finds the session that a command speaks of."""

    config: Config
    sources: Sources = field(default_factory=Sources)
    workspaces: dict[str, Workspace] = field(default_factory=dict)
    on_change: Callable[[Session], None] = lambda session: None
    #: sees every event of every session
    witness: Witness = lambda session, event: None
    #: backends of programs that were detached from
    left: list[Backend] = field(default_factory=list)
    #: what takes longer than a caller may wait: builds, installations; they outlive who waits
    works: dict[tuple[object, ...], asyncio.Task[Any]] = field(default_factory=dict)

    def workspace(self, cwd: str) -> Workspace:
        """Return the workspace of a directory: its repository's root, or itself.

        A directory below one where sessions live belongs there, repository or not.
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
        """Return the session of that name, this workspace's first; or the current one here.

        Raises NoSession, naming those that there are.
        """
        if name is None:
            session = workspace.session()
            if session is None:
                raise NoSession(
                    f"there is no session in {workspace.root}.{self._elsewhere(workspace)}",
                    next="dbg start PROGRAM -b FILE:LINE",
                )
            return session.focus()
        candidates = [
            member
            for root in workspace.sessions.values()
            for member in root.members()
            if member.name == name
        ] or [m for root in self.roots() for m in root.members() if m.name == name]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise NoSession(
                f"{len(candidates)} workspaces have a session {name}; "
                "run the command in the directory of the one you mean.",
                next="dbg sessions --everywhere",
            )
        have = ", ".join(m.name for root in self.roots() for m in root.members())
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
        """Enter a new session and make it the current one of its workspace."""
        session = Session(
            name,
            book=workspace.book,
            config=self.config,
            sources=self.sources,
            make_backend=make_backend,
            reason=reason,
            on_change=self.on_change,
            tell=workspace.apply,
            filters=lambda: workspace.filters,
            witness=self.witness,
        )
        workspace.sessions[name] = session
        workspace.current = name
        return session

    def remove(self, session: Session) -> None:
        """Forget a session and its children; the newest one left becomes the current one.

        Two commands may end the same session: the second finds nothing to forget.
        """
        root = session.root
        session.forgotten = True
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
        """There is something to stay for: a live session, or a program left to itself that still
        writes into pipes of ours."""
        self.left = [backend for backend in self.left if backend.lingering]
        return bool(self.left) or any(root.tree_live for root in self.roots())

    @property
    def working(self) -> bool:
        """There is work under way whose caller will ask for it again."""
        return any(not work.done() for work in self.works.values())

    async def close(self, why: str = "") -> None:
        """End every session. Bounded; never raises.

        *why* is a clause, for whoever waits for one of them: "the daemon received SIGTERM".
        """
        for work in list(self.works.values()):
            work.cancel()
        for root in list(self.roots()):
            root.end_reason = why
        for root in list(self.roots()):
            await root.dispose()
        self.workspaces.clear()

    def info(self, session: Session, workspace: Workspace, now: float) -> SessionInfo:
        """Return what `status` and `sessions` say of one session."""
        target, moment = session.target, session.moment
        frame = moment.thread.frame if moment is not None else None
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
            reason=moment.event.reason.value if moment is not None else None,
            exit=session.exit,
            parent=session.parent.name if session.parent is not None else None,
            age_s=now - session.created,
            command=session.command or (program, *getattr(target, "args", ())),
        )


def _program_of(target: Target | None) -> str:
    if isinstance(target, Launch):
        return target.named
    return getattr(target, "program", None) or ""


def workspace_root(cwd: str) -> str:
    """Return the root of the repository above *cwd*, or *cwd* itself.

    The home directory and / are never taken for a project that spans what lies below them.
    """
    home = os.path.expanduser("~")
    directory = cwd
    while True:
        if any(os.path.exists(os.path.join(directory, mark)) for mark in _ROOT_MARKS):
            return directory
        parent = os.path.dirname(directory)
        if parent == directory or directory == home:
            return cwd
        directory = parent
