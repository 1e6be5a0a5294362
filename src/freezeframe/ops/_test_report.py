"""Reports of programs that run tests: the failing test at a stop, the results at the end."""

from __future__ import annotations

import os
import re
from dataclasses import replace

from freezeframe.backends.backend import Launch
from freezeframe.model.answers import Chunk, Output, RunnerReport
from freezeframe.runners import choice
from freezeframe.runners.runner import Runner, RunSummary
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState

from ._failures import describe, is_failure
from ._suggestions import quoted

#: characters at the end of the output that are searched for the results
_SEARCHED = 60_000
_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
_STREAMS = frozenset({"stdout", "stderr"})


#: how GoogleTest tells of an exception that left a test
_CAUGHT = "C++ exception with"
_CAUGHT_NOTE = "GoogleTest caught it: catch throw, then restart, stops where it is thrown"


def runner_of(session: Session) -> Runner | None:
    """Return the test runner that `test` has started as this session; None for other programs."""
    target = session.root.target
    if not isinstance(target, Launch) or target.runner is None:
        return None
    return choice.by_name(target.runner)


async def at_stop(session: Session, stop: StopState, output: Output) -> RunnerReport | None:
    """Return the report of a failing test; None if the stop is something else."""
    runner = runner_of(session)
    if runner is None or not is_failure(stop):
        return None
    output_so_far = printed(session)
    failure = await describe(session, stop, runner, runner.current(output_so_far))
    lines = [(os.path.basename(each.path or ""), each.line or 0) for each in failure.frames]
    logged = runner.logged(output_so_far, lines)
    if logged is not None:
        failure = replace(failure, message=logged)
    is_caught = not failure.frames and failure.message.startswith(_CAUGHT)
    if is_caught:
        failure = replace(failure, details=(*failure.details, _CAUGHT_NOTE))
    return RunnerReport(
        session.name,
        runner.name,
        Phase.STOPPED.value,
        failures=(failure,),
        output=_without_noise(output, runner, failure.message),
        next=("catch throw",) if is_caught else ("continue", "backtrace --locals"),
    )


def at_end(session: Session, output: Output) -> RunnerReport | None:
    """Return the results of a run that has ended; None if the program is no test runner."""
    root = session.root
    runner = runner_of(session)
    if runner is None or root.exit is None:
        return None
    summary = runner.summary(printed(root)) or RunSummary()
    # Nothing stopped: what the runner printed is all that there is about a failure.
    unexplained = bool(root.exit.code or root.exit.signal) and root.last_reported is None
    return RunnerReport(
        root.name,
        runner.name,
        Phase.TERMINATED.value,
        counts=summary.counts,
        total=summary.total,
        duration_s=summary.duration_s,
        failed=summary.failed,
        exit=root.exit,
        output=output if unexplained else Output(),
        next=_again(runner, summary, session),
    )


def _again(runner: Runner, summary: RunSummary, session: Session) -> tuple[str, ...]:
    """Return the command that runs the first failed test alone, with the options of this run."""
    if not summary.failed or not runner.is_selectable:
        return ()
    target = session.root.target
    args = target.runner_args if isinstance(target, Launch) else ()
    behind = f" -- {quoted(*args)}" if args else ""
    return (f"test {quoted(summary.failed[0])}{behind}",)


def printed(session: Session) -> str:
    """Return the end of what the runner printed."""
    found = session.root.output.read(streams=_STREAMS, limit=_SEARCHED)
    return _ESCAPE.sub("", "".join(chunk.text for chunk in found.chunks))


def _without_noise(output: Output, runner: Runner, message: str) -> Output:
    """Return the output without what the runner says of its progress and of the failure."""
    noise = runner.noise
    known = {line.strip() for line in message.splitlines()}
    chunks = []
    for chunk in output.chunks:
        lines = chunk.text.splitlines(keepends=True)
        kept = "".join(
            each
            for each in lines
            if each.strip() not in known and not (noise and noise.fullmatch(each.strip()))
        )
        if kept.strip():
            chunks.append(Chunk(chunk.stream, kept))
    return Output(tuple(chunks), output.dropped, output.start, output.end, output.skipped)
