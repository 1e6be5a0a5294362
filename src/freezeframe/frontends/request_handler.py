"""The daemon's request handler: runs command lines and JSON requests.

Both run the same operations through the same checks. The answer to a command line is text, or JSON
with `--json`; the answer to a JSON request is data.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from freezeframe import config as configs
from freezeframe import paths
from freezeframe.config import Config
from freezeframe.daemon.state import SessionRecord
from freezeframe.errors import BadConfig, FreezeframeError, UsageError
from freezeframe.history.archive import Archive
from freezeframe.model.answers import Batch, StopReport, Text
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.ops import _json_schema
from freezeframe.ops._context import Caller, Context
from freezeframe.ops._control import log_action, take_notes
from freezeframe.ops._registry import Effect
from freezeframe.ops._runner import run
from freezeframe.render import PLAIN, Style, envelope, error_envelope, render_error, render_text
from freezeframe.render.formatting import clip, escape_control
from freezeframe.render.text.output import Follower
from freezeframe.session.idle_sessions import IdleSessions
from freezeframe.session.registry import SessionRegistry
from freezeframe.session.session import Session

from . import cli_ops, completion, help, json_requests
from .frame_arguments import placed
from .parser import Parsed, parse
from .redaction import redact, secrets_of

if TYPE_CHECKING:
    from freezeframe.daemon.cli_connection import Reply
    from freezeframe.daemon.ipc import ClientRequest
    from freezeframe.daemon.state import DaemonState

STILL_RUNNING = 124
#: Changes within this time are written to the state file in one write.
_RECORD_S = 0.05
#: maximum length of a note
_NOTE_BYTES = 1000


def make_handler(daemon: DaemonState, config: Config) -> RequestHandler:
    """Return the daemon's handler."""
    return RequestHandler(daemon, config)


class RequestHandler:
    """Runs the requests of clients. Implements `daemon.handler.Handler`."""

    def __init__(self, daemon: DaemonState, config: Config) -> None:
        self._daemon = daemon
        self._config = config
        self._config_stamp = _stamp(daemon.config_path)
        self._config_note: str | None = None
        self._recording: asyncio.TimerHandle | None = None
        #: sessions that the next daemon would report as lost
        self._on_record: set[Session] = set()
        self._tracked: set[int] = set()
        self._idle = IdleSessions()
        self._idle_check: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()
        #: the commands that run
        self._pending: list[Context] = []
        self.hub = SessionRegistry(config, on_change=self._changed)
        self.history = Archive(
            paths.history_path(), lambda session: self.hub.workspace_of(session).root
        )
        self.hub.observer = self.history.recorder.on_event

    # --- the server's side

    def busy(self) -> bool:
        return self.hub.busy or self.hub.working

    async def close(self) -> None:
        for timer in (self._recording, self._idle_check):
            if timer is not None:
                timer.cancel()
        self.hub.on_change = lambda session: None
        await self.hub.close(self._daemon.exit_reason)
        await self.history.close()

    async def argv(self, request: ClientRequest, reply: Reply) -> int:
        """Answer a command line; return its exit status."""
        if request.argv[:1] == (completion.COMMAND,):
            await reply.out("".join(f"{line}\n" for line in completion.complete(request.argv[1:])))
            return 0
        style = _style(request)
        as_json = "--json" in request.argv

        async def show_notes(notes: tuple[str, ...]) -> None:
            if notes:
                show = reply.err if as_json else reply.out
                await show("".join(f"note: {note}\n" for note in notes))

        await show_notes(self._take_notes())
        ctx: Context | None = None
        try:
            parsed = parse(request.argv)
            caller = _caller(request, reply, parsed)
            as_json = parsed.globals.json
            if parsed.globals.color is not None:
                style = Style(colour=parsed.globals.color, width=request.columns)
            ctx = self._context(caller, parsed.globals.session, shlex.join(request.argv))
            follower = Follower()
            ctx.emit = lambda chunk: reply.out(follower.text(chunk))
            # A carriage return writes the line of the progress anew.
            ctx.progress = lambda text: reply.err(
                "\r" * text.startswith("\r") + escape_control(text.removeprefix("\r"))
            )
            with self._logged(ctx) as logged:
                answer = await self.answer(parsed, ctx)
                await show_notes(_notes_of_owners(ctx))
                logged.answer = shown = self._shown(answer, parsed, ctx, style)
        except FreezeframeError as error:
            await show_notes(_notes_of_owners(ctx))
            if as_json:
                await reply.out(_line(error_envelope(error)))
            else:
                await reply.err(render_error(error, style))
            return error.exit_status
        await reply.out(shown)
        self.history.recorder.flush()
        return _status(answer)

    def _shown(self, answer: object, parsed: Parsed, ctx: Context, style: Style) -> str:
        if parsed.globals.json:
            via = str(ctx.found.backend.tool) if ctx.found and ctx.found.backend else None
            via = getattr(answer, "via", None) or via
            return _line(
                envelope(_json_schema.to_jsonable(answer), via, list(getattr(answer, "next", ())))
            )
        return self._render_text(answer, parsed, ctx, style)

    def _render_text(self, answer: object, parsed: Parsed, ctx: Context, style: Style) -> str:
        budget = parsed.globals.budget or ctx.config.answers.budget_tokens
        return render_text(
            answer,
            budget_tokens=budget,
            cwd=ctx.caller.cwd,
            style=style,
            value_chars=ctx.config.answers.value_chars,
        )

    async def call(self, request: dict[str, object]) -> dict[str, object]:
        """Answer a JSON request (see json_requests.py)."""
        with_notes = request.get("notes") is not False
        notes = self._take_notes() if with_notes else ()
        ctx: Context | None = None
        try:
            call = json_requests.read(request)
            ctx = self._context(call.caller, call.parsed.globals.session, call.typed)
            logs = with_notes and _is_shown(call.parsed, ctx)
            with self._logged(ctx) if logs else nullcontext(_Logged()) as logged:
                async with _unread_output(ctx), placed(ctx, call.frame, call.thread):
                    answer = await self.answer(call.parsed, ctx)
                text = self._render_text(answer, call.parsed, ctx, PLAIN) if call.text else ""
                logged.answer = text
            asyncio.get_running_loop().call_soon(self.history.recorder.flush)
            notes += _notes_of_owners(ctx) if with_notes else ()
        except FreezeframeError as error:
            notes += _notes_of_owners(ctx) if with_notes else ()
            return {
                "success": False,
                "error": {"code": error.error_code, "message": error.message, "next": error.next},
                **({"notes": list(notes)} if notes else {}),
            }
        return {
            "success": True,
            "result": _json_schema.to_jsonable(answer),
            **({"text": text} if call.text else {}),
            **({"notes": list(notes)} if notes else {}),
        }

    @contextmanager
    def _logged(self, ctx: Context) -> Iterator[_Logged]:
        """Log a command and its answer for people who watch."""
        log, logged = ctx.workspace.commands, _Logged()
        who = ctx.caller.owner
        entry = log.begin("agent" if who is None else who.name or who.kind, ctx.typed)
        self.history.recorder.publish()
        ok = False
        try:
            yield logged
            ok = True
        except FreezeframeError as error:
            logged.answer = render_error(error, PLAIN)
            raise
        finally:
            found = ctx.found.root.name if ctx.found is not None else ctx.session_name
            log.finish(entry, session=found, ok=ok, answer=logged.answer)
            asyncio.get_running_loop().call_soon(self.history.recorder.publish)

    # --- one command

    async def answer(self, parsed: Parsed, ctx: Context) -> object:
        """Run a parsed command line, batches included."""
        if parsed.globals.help or parsed.op is None:
            topic = list(parsed.name_tokens)
            return Text(help.page(topic) if topic else help.overview(), whole=True)
        if parsed.op.id == "batch":
            return await cli_ops.run_batch(self, ctx, parsed.kwargs)
        arguments = parsed.kwargs
        if parsed.op.id != "config":  # it shows the current settings
            arguments = json_requests.apply_deadline(ctx, arguments)
        with self._counted(ctx):
            answer = await run(parsed.op, ctx, arguments)
        log_action(parsed.op, ctx)
        if not ctx.config.answers.hide_secrets or parsed.kwargs.get("reveal"):
            return answer
        return redact(answer, secrets_of(ctx.config.history.exclude))

    @contextmanager
    def _counted(self, ctx: Context) -> Iterator[None]:
        """Note that somebody asks about the session of *ctx*, while it is asked and at the end."""
        self._pending.append(ctx)
        try:
            yield
        finally:
            self._pending.remove(ctx)
            if ctx.found is not None:
                self._idle.requested(ctx.found)

    def sub_context(self, ctx: Context, session: str | None, typed: str) -> Context:
        """Return a fresh context for another command of the same caller."""
        fresh = self._context(ctx.caller, session or ctx.session_name, typed)
        fresh.emit = ctx.emit
        return fresh

    def _context(self, caller: Caller, session: str | None, typed: str) -> Context:
        self._refresh_config()
        return Context(
            hub=self.hub,
            daemon=self._daemon,
            config=configs.override(self._config, caller.env),
            caller=caller,
            workspace=self.hub.workspace(caller.cwd),
            history=self.history,
            typed=typed,
            session_name=session or caller.env.get("DBG_SESSION") or None,
        )

    def _refresh_config(self) -> None:
        """Read config.toml again if it changed. A bad file changes nothing and is reported once."""
        stamp = _stamp(self._daemon.config_path)
        if stamp == self._config_stamp:
            return
        self._config_stamp = stamp
        try:
            self._config = configs.read(self._daemon.config_path, os.environ)
        except BadConfig as error:
            self._config_note = f"{error} The settings stay as they were."
            return
        if self._config.warnings:
            self._config_note = " ".join(self._config.warnings)
        self.hub.config = self._config

    def _take_notes(self) -> tuple[str, ...]:
        """Return notes to show with the answer; each is returned once."""
        self._refresh_config()
        note, self._config_note = self._config_note, None
        notes = (*self._daemon.take_notes(), *self.history.take_notes(), *self._idle_notes())
        # Notes quote names that programs and files chose: keep each note on one line.
        return tuple(clip(each, _NOTE_BYTES) for each in (*notes, *((note,) if note else ())))

    # --- sessions that nobody asks about

    def _idle_notes(self) -> list[str]:
        settings = self._config.daemon
        if settings.end_idle_sessions:
            return []
        return [
            f"session {root.name} in {self.hub.workspace_of(root).root} had no command for "
            f"{idle_s / 60:.0f} min; `dbg -s {root.name} stop` ends it"
            for root, idle_s in self._idle.unreported(self.hub.roots(), settings.session_idle_s)
        ]

    def _check_idle(self) -> None:
        """End idle sessions if the settings say so; check again while there are sessions."""
        settings, self._idle_check = self._config.daemon, None
        pending = {ctx.found.root for ctx in self._pending if ctx.found is not None}
        if settings.end_idle_sessions:
            for root, idle_s in self._idle.idle(self.hub.roots(), settings.session_idle_s):
                if root in pending:
                    self._idle.requested(root)
                    continue
                why = f"it had no command for {idle_s / 60:.2g} min (daemon.end_idle_sessions)"
                self._daemon.add_note(f"session {root.name} was ended: {why}")
                task = asyncio.get_running_loop().create_task(self._end(root))
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
        self._watch_idle()

    async def _end(self, root: Session) -> None:
        await root.end(for_good=True)
        self.hub.remove(root)

    def _watch_idle(self) -> None:
        if self._idle_check is None and self._live_roots():
            pause_s = min(60.0, self._config.daemon.session_idle_s / 4)
            loop = asyncio.get_running_loop()
            self._idle_check = loop.call_later(pause_s, self._check_idle)

    # --- what an unexpected end would cost

    def _changed(self, session: Session) -> None:
        self._idle.began(session)
        self._watch_idle()
        if not self._on_record.issuperset(self._live_roots()):
            self._record()  # a new session: record it at once, in case this process dies
        elif self._recording is None:
            loop = asyncio.get_running_loop()
            self._recording = loop.call_later(_RECORD_S, self._record)

    def _live_roots(self) -> list[Session]:
        return [root for root in self.hub.roots() if root.any_live]

    def _record(self) -> None:
        if self._recording is not None:
            self._recording.cancel()
        self._recording = None
        records = []
        for root in self._live_roots():
            frame = root.current_stop.thread.frame if root.current_stop is not None else None
            records.append(
                SessionRecord(
                    name=root.name,
                    program=getattr(root.target, "program", None) or "",
                    workspace=self.hub.workspace_of(root).root,
                    pid=root.pid,
                    place=f"{os.path.basename(frame.path)}:{frame.line} in {frame.function}"
                    if frame is not None and frame.path
                    else "",
                )
            )
        self._daemon.record(records)
        self._on_record = set(self._live_roots())
        self._track({r.pid for r in self.hub.roots() if r.pid and r.live and r.launched})

    def _track(self, groups: set[int]) -> None:
        """Report to the supervisor the process groups that must not outlive the daemon."""
        for pid in groups - self._tracked:
            self._daemon.track(pid)
        for pid in self._tracked - groups:
            self._daemon.untrack(pid)
        self._tracked = groups


@dataclass(slots=True)
class _Logged:
    """The answer to a command, as it was shown."""

    answer: str = ""


@asynccontextmanager
async def _unread_output(ctx: Context) -> AsyncIterator[None]:
    """Keep the output that an agent has not seen unread, although a person or an editor sees it."""
    roots = ctx.workspace.sessions.values() if ctx.caller.owner is not None else ()
    unread = {root: root.output.seen for root in roots}
    try:
        yield
    finally:
        for root, seen in unread.items():
            root.output.seen = seen


def _is_shown(parsed: Parsed, ctx: Context) -> bool:
    """Whether people who watch see the command: not what their own pages and editors read."""
    reads = parsed.op is not None and parsed.op.effect is Effect.READS
    return ctx.caller.owner is None or not reads


def _notes_of_owners(ctx: Context | None) -> tuple[str, ...]:
    """Return what persons and editors did to the sessions of the caller, each once."""
    if ctx is None:
        return ()
    return tuple(clip(note, _NOTE_BYTES) for note in take_notes(ctx))


def _caller(request: ClientRequest, reply: Reply, parsed: Parsed) -> Caller:
    is_admin = parsed.op is None or parsed.globals.help or parsed.op.group == "admin"
    if not request.cwd and not is_admin:
        raise UsageError("the current directory no longer exists.", next="cd ~")
    read: Callable[[], Awaitable[bytes]] | None = None if request.stdin_tty else reply.read_stdin
    return Caller(
        cwd=request.cwd or "/",
        env=request.env,
        terminal=request.stdout_tty,
        width=request.columns,
        read_stdin=read,
        redirected_input=reply.redirected_input,
    )


def _style(request: ClientRequest) -> Style:
    if not request.stdout_tty or request.env.get("NO_COLOR") or request.env.get("TERM") == "dumb":
        return PLAIN
    return Style(colour=True, width=request.columns)


def _line(data: dict[str, object]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"


def _status(answer: object) -> int:
    if isinstance(answer, StopReport):
        return STILL_RUNNING if answer.state == "running" and answer.waited_s is not None else 0
    if isinstance(answer, Batch) and answer.items:
        last = answer.items[-1]
        failed = [item for item in answer.items if not item.ok]
        if failed:
            return failed[0].exit_status
        return _status(last.answer)
    return 0


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
