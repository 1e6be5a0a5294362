"""Recorded runs: save, replay, export, import, prune."""

from __future__ import annotations

import asyncio
import os
import shlex
from typing import Annotated

from freezeframe import files
from freezeframe.backends.backend import Backend, Launch
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.answers import StopReport, Text
from freezeframe.model.history import Exported, Pruned, RunAnswer
from freezeframe.session.stop_wait import wait_for_stop

from ._context import Context
from ._kept_answers import Question, kept_answer, page_step
from ._registry import Arg, Effect, op
from ._stop_report import running_report, stop_report
from .history import find

_MAX_IMPORT = 256 << 20
#: time limit for reading or writing an export file, in seconds
_FILE_S = 30.0
_REPLAY_S = 10.0


@op(
    "save",
    group="history",
    effect=Effect.WRITES,
    control=True,
    example="save good",
    examples=("save before --run 3",),
)
async def save(
    ctx: Context,
    label: Annotated[str, Arg("a name for the run", meta="LABEL")],
    *,
    run: Annotated[
        str | None, Arg("the run (default: the current session's)", short="-r", meta="RUN")
    ] = None,
) -> RunAnswer:
    """Give a recorded run a label. Labelled runs are kept regardless of age."""
    from dataclasses import replace

    found = await find(ctx, run)
    note = await ctx.history.save(found, ctx.workspace.root, label)
    return RunAnswer(replace(found.run, label=label), "saved", note)


@op(
    "replay",
    group="history",
    effect=Effect.RESUMES,
    example="replay bad",
    examples=("replay bad --stop 12",),
)
async def replay(
    ctx: Context,
    run: Annotated[str | None, Arg("a label, number or session", meta="RUN")] = None,
    *,
    stop: Annotated[
        int,
        Arg("begin at this stop; negative counts from the end", short="-n", meta="N", signed=True),
    ] = 1,
    name: Annotated[str | None, Arg("name of the session", meta="NAME")] = None,
) -> StopReport:
    """Replay a recorded run as if it were live.

    `context`, `backtrace`, `locals` and `print` show what was recorded; `next`, `step`,
    `continue`, `finish`, `until` and `back` move from one recorded stop to another. Of a trace
    (`why`, `trace` and `test` leave one, NAME-trace) every executed line is a stop.
    """
    from freezeframe.history.replay import RecordedSources, ReplayBackend
    from freezeframe.history.trace_replay import TraceReplay

    root = ctx.workspace.root
    found = await find(ctx, run, whole=False)
    recording = await ctx.history.recording(found, root)
    count = len(recording.stops)
    if not count:
        raise NotFound(
            f"run {found.run.label or found.run.number} has no stops.", next="dbg sessions --all"
        )
    first = stop if stop > 0 else count + 1 + stop
    if not 1 <= first <= count:
        raise NotFound(
            f"run {found.run.label or found.run.number} has {count} stops; there is no {stop}.",
            next=f"dbg replay {run or found.run.number}",
        )
    chosen = name or f"replay-{found.run.label or found.run.number}"
    if "/" in chosen:
        raise UsageError(f"{chosen!r} cannot be the name of a session.", next="dbg replay … --name")
    if (earlier := ctx.workspace.sessions.get(chosen)) is not None:
        earlier.control.check(ctx.caller.owner, chosen)
        await earlier.end(for_good=True)
        ctx.hub.remove(earlier)

    def make() -> Backend:
        replayed = TraceReplay if found.run.traced else ReplayBackend
        return replayed(recording, root, first)

    session = ctx.hub.create(ctx.workspace, chosen, make, "a recording was requested")
    session.recorded = False
    session.sources = RecordedSources(recording, root)
    session.last_command = ctx.typed
    target = Launch(found.run.program, found.run.args, cwd=root)
    await session.start(target)
    got = await wait_for_stop(session, {session: 0}, _REPLAY_S)
    if got is None:
        return running_report(ctx, session, None, first=True)
    return await stop_report(ctx, *got, first=True)


@op(
    "export",
    group="history",
    control=True,
    example="export bad bad.html",
    examples=("export bad bad.jsonl", "export --answer diff diff.html", "export 3"),
)
async def export(
    ctx: Context,
    run: Annotated[str | None, Arg("a label, number or session", meta="RUN")] = None,
    file: Annotated[
        str | None,
        Arg(".html: a web page; otherwise JSON lines; none: standard output", complete="file"),
    ] = None,
    *,
    answer: Annotated[
        Question | None, Arg("the page of the latest answer of this question")
    ] = None,
    force: Annotated[bool, Arg("overwrite an existing file", short="-f")] = False,
) -> Exported | Text:
    """Write a recorded run as a page for a browser, or as JSON lines.

    The page is self-contained: timeline, source, variables and output of every stop. With --answer
    it begins with the latest answer: the two runs of `diff` side by side, the chain of `why` as
    arrows in the source, the runs of `hunt` as a grid.
    """
    from freezeframe.history import import_export

    if run is not None and file is None and run.endswith((".html", ".htm", ".jsonl", ".json")):
        run, file = None, run
    if answer is not None:
        return await _answer_page(ctx, answer, file, force)
    found = await find(ctx, run)
    recording = await ctx.history.recording(found, ctx.workspace.root)
    is_page = file is not None and file.lower().endswith((".html", ".htm"))
    if is_page:
        from freezeframe.history import html_export

        text = await asyncio.to_thread(html_export.page, recording)
    else:
        lines = await asyncio.to_thread(lambda: list(import_export.lines(recording)))
        text = "".join(f"{line}\n" for line in lines)
    if file is None:
        return Text(text, whole=True)
    path = os.path.abspath(os.path.join(ctx.caller.cwd, os.path.expanduser(file)))
    data = text.encode("utf-8", "replace")
    again = shlex.join(["export", *([] if run is None else [run]), file])
    await asyncio.to_thread(_write, path, data, force, again)
    return Exported(path, "html" if is_page else "jsonl", found.run, len(data))


async def _answer_page(ctx: Context, question: Question, file: str | None, force: bool) -> Exported:
    from freezeframe.history import answer_pages

    if file is None:
        raise UsageError("a page needs a file.", next=f"dbg {page_step(question)}")
    data = kept_answer(ctx, question)
    recording = None
    runs = await ctx.history.runs(ctx.workspace.root) if data["run"] is not None else []
    # Runs have the names of programs: a later one of that name is another run.
    same = [each for each in runs if each.name == data["run"] and each.started <= data["at"]]
    if same:
        found = await ctx.history.find(ctx.workspace.root, f"#{same[-1].number}")
        recording = await ctx.history.recording(found, ctx.workspace.root)
    text = await asyncio.to_thread(answer_pages.page, question, data, recording)
    path = os.path.abspath(os.path.join(ctx.caller.cwd, os.path.expanduser(file)))
    encoded = text.encode("utf-8", "replace")
    again = shlex.join(["export", "--answer", question, file])
    await asyncio.to_thread(_write, path, encoded, force, again)
    return Exported(path, "html", recording.run if recording else None, len(encoded), question)


def _write(path: str, data: bytes, force: bool, again: str) -> None:
    try:
        files.write_bytes(path, data, replace=force, timeout_s=_FILE_S)
    except FileExistsError:
        raise UsageError(f"{path} already exists.", next=f"dbg {again} --force") from None
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotFound(f"{path} cannot be written: {reason}.", code="failed") from None


@op(
    "import",
    group="history",
    effect=Effect.WRITES,
    control=True,
    example="import bad.jsonl",
    examples=("import bad.jsonl --label theirs",),
)
async def import_(
    ctx: Context,
    file: Annotated[str, Arg("what `export` wrote as JSON lines", complete="file")],
    *,
    label: Annotated[str | None, Arg("a label for it (default: its own)", meta="LABEL")] = None,
) -> RunAnswer:
    """Import a recorded run from a file into this workspace."""
    from dataclasses import replace

    from freezeframe.history import import_export

    path = os.path.abspath(os.path.join(ctx.caller.cwd, os.path.expanduser(file)))
    try:
        data = await asyncio.to_thread(files.read_bytes, path, _MAX_IMPORT, timeout_s=_FILE_S)
        text = data.decode("utf-8")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise NotFound(f"{file} cannot be read: {reason}.", next="dbg export RUN FILE") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file} is not text.", next="dbg export RUN FILE") from None
    recording = import_export.read(text)
    root = ctx.workspace.root
    number = await ctx.history.add_recording(recording, root)
    found = await ctx.history.find(root, f"#{number}")
    new_label, note = label or recording.run.label, None
    if new_label is not None:
        taken = {run.label for run in await ctx.history.runs(root)}
        if label is None and new_label in taken:
            new_label = _free(new_label, taken)
        note = await ctx.history.save(found, root, new_label)
    run = replace(found.run, label=new_label)
    return RunAnswer(run, "imported", note, next=(f"replay {new_label or number}",))


def _free(label: str, taken: set[str | None]) -> str:
    number = 2
    while f"{label}-{number}" in taken:
        number += 1
    return f"{label}-{number}"


@op(
    "prune",
    group="history",
    effect=Effect.WRITES,
    control=True,
    example="prune --older-than 7",
    examples=("prune bad 12", "prune --all --dry-run"),
)
async def prune(
    ctx: Context,
    runs: Annotated[
        tuple[str, ...], Arg("runs to remove: labels, numbers, sessions", meta="RUN")
    ] = (),
    *,
    older_than: Annotated[
        float | None, Arg("days (default: history.max_age_days)", meta="DAYS")
    ] = None,
    max_mb: Annotated[float | None, Arg("megabytes to keep (default: history.max_mb)")] = None,
    all: Annotated[
        bool, Arg("every run of this workspace that has no label and has ended")
    ] = False,
    dry_run: Annotated[bool, Arg("only list what would be removed", short="-n")] = False,
) -> Pruned:
    """Remove recorded runs: those named, or those beyond the limits of age and size.

    Runs with a label stay unless they are named.
    """
    going = []
    if runs:
        going = [await find(ctx, name) for name in runs]
        if any(each.run.live for each in going):
            raise UsageError(
                "a run that is still being recorded cannot be removed.", next="dbg stop"
            )
    elif all:
        recorded = await ctx.history.runs(ctx.workspace.root)
        loose = [run for run in recorded if run.label is None and not run.live]
        going = [await ctx.history.find(ctx.workspace.root, f"#{run.number}") for run in loose]
    else:
        settings = ctx.config.history
        going = await ctx.history.outdated(
            settings.max_age_days if older_than is None else older_than,
            settings.max_mb if max_mb is None else max_mb,
        )
    before = ctx.history.size()
    if going and not dry_run:
        await ctx.history.remove(going)
    left = await ctx.history.runs(None)
    size = ctx.history.size()
    return Pruned(
        tuple(each.run for each in going),
        len(left),
        size,
        freed=max(0, before - size),
        dry=dry_run,
    )
