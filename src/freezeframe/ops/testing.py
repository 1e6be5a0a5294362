"""Run tests and stop where one fails: test."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from freezeframe.backends import selection
from freezeframe.errors import NotFound, UserError
from freezeframe.model.answers import Output, RunnerReport, StopReport
from freezeframe.model.testing import Failure
from freezeframe.runners import choice
from freezeframe.runners.choice import RunnerChoice
from freezeframe.runners.runner import Project, Runner
from freezeframe.session.phase import Phase
from freezeframe.session.session import Session

from . import _commands, execution
from ._common_args import Breaks, DebuggerName, Environment, Record, SessionName, Timeout
from ._context import Context
from ._launch_program import LaunchRequest, launch
from ._registry import Arg, Effect, op
from ._suggestions import nearest, quoted
from ._test_origin import with_origin
from ._test_report import printed

#: failures that `--all` describes
_MOST_FAILURES = 20
_ROUTINE = ("built before: ", "replaced: ")


@op(
    "test",
    group="questions",
    effect=Effect.RESUMES,
    example="test",
    examples=(
        "test tests/test_cart.py::test_total",
        "test test_total --all",
        "test -k 'cart and not slow' -- --maxfail=3",
    ),
)
async def run_tests(
    ctx: Context,
    selectors: Annotated[
        tuple[str, ...],
        Arg(
            "tests to run: a name, a path, FILE:LINE, or what the runner calls them (default: all)",
            complete="file",
        ),
    ] = (),
    args: Annotated[tuple[str, ...], Arg("arguments of the runner", rest=True)] = (),
    *,
    matching: Annotated[
        str | None, Arg("only tests whose names match", short="-k", meta="EXPR")
    ] = None,
    all: Annotated[bool, Arg("describe every failure of the run, in one answer")] = False,
    runner: Annotated[
        str | None, Arg("the test runner (default: the project's)", meta="NAME")
    ] = None,
    breakpoints: Breaks = (),
    adapter: DebuggerName = None,
    cwd: Annotated[
        str | None,
        Arg("directory to run in (default: the caller's)", meta="DIR", complete="directory"),
    ] = None,
    env: Environment = (),
    interpreter: Annotated[
        str | None,
        Arg("the runtime to run them with (default: the caller's)", meta="PATH", complete="file"),
    ] = None,
    name: SessionName = None,
    timeout: Timeout = None,
    record: Record = None,
) -> RunnerReport | StopReport:
    """Run tests under the debugger and stop at the first failure, its frames alive.

    The answer has the failing test, the compared values, and the user's frames between the test
    and the failure. `continue` runs to the next failure. The runner is the project's own: pytest,
    unittest, Django, and others; it runs in one process, without workers.
    """
    if cwd is not None:
        ctx = replace(ctx, caller=replace(ctx.caller, cwd=_directory(ctx, cwd)))
    project = Project(ctx.caller.cwd, ctx.caller.env, selectors, matching)
    chosen, interpreter, ctx = await available_runner(
        ctx, project, choice.choose(project, runner), interpreter, adapter
    )
    command = chosen.runner.command(project)
    began = time.monotonic()
    report = await launch(
        ctx,
        LaunchRequest(
            command.argv[0],
            (*command.argv[1:], *args),
            module=command.module,
            breakpoints=breakpoints,
            adapter=adapter,
            cwd=command.cwd,
            env=(*command.env, *env),
            interpreter=interpreter,
            name=name,
            timeout=timeout,
            record=record,
            runner=chosen.runner.name,
            runner_args=args,
        ),
    )
    if report.test is None:
        # A breakpoint, or the program still runs.
        return report
    first = report.test
    session = ctx.hub.find(report.session, ctx.workspace)
    notes = (*command.notes, *_remarks(chosen, project, report))
    if all:
        left_s = None if timeout is None else max(0.0, timeout - (time.monotonic() - began))
        return _answer_of(await _every(ctx, session, report, left_s), report, chosen, notes)
    if report.test.state == Phase.TERMINATED.value:
        _require_tests(chosen.runner, project, session)
    report = await with_origin(ctx, report)
    return _answer_of(report.test or first, report, chosen, notes)


def _directory(ctx: Context, cwd: str) -> str:
    return Project(ctx.caller.cwd, ctx.caller.env).path(cwd)


def _answer_of(
    answer: RunnerReport, first: StopReport, chosen: RunnerChoice, notes: tuple[str, ...]
) -> RunnerReport:
    """Return the answer with how the tests were run."""
    reason = "" if chosen.reason == "--runner" else f" ({chosen.reason})"
    via = (f"{first.via}, " if first.via else "") + chosen.runner.name + reason
    return replace(answer, reason=chosen.reason, notes=(*answer.notes, *notes), via=via)


def _remarks(chosen: RunnerChoice, project: Project, report: StopReport) -> Iterator[str]:
    if chosen.others:
        others = " or ".join(f"`--runner {name}`" for name in chosen.others)
        yield f"run with {chosen.runner.name}, as {chosen.reason} says; {others} is possible"
    # What every second run of tests would say is not said.
    yield from (note for note in report.notes if not note.startswith(_ROUTINE))


async def available_runner(
    ctx: Context,
    project: Project,
    chosen: RunnerChoice,
    interpreter: str | None = None,
    adapter: str | None = None,
) -> tuple[RunnerChoice, str | None, Context]:
    """Return the runner, or one that is installed, with its interpreter and environment.

    Raises NotFound if neither is installed.
    """
    module = chosen.runner.module
    if module is None:
        return chosen, interpreter, ctx
    named = interpreter or _configured(ctx, module, adapter)
    found = await _commands.python_with(ctx, module, named)
    there = replace(ctx, caller=replace(ctx.caller, env=found.line.env))
    if found.has_module:
        return chosen, found.interpreter, there
    if chosen.reason != "--runner" and (fallback := chosen.runner.fallback) is not None:
        other = choice.by_name(fallback)
        evidence = other.recognise(project)
        if evidence is not None:
            reason = f"{evidence.reason}; {module} is not installed"
            return RunnerChoice(other, reason), found.interpreter, there
    raise NotFound(
        f"{module} runs the tests here ({chosen.reason}), and {found.interpreter} does not have "
        "it.",
        next=f"{shlex.quote(found.interpreter)} -m pip install {module}",
    )


def _configured(ctx: Context, module: str, adapter: str | None) -> str | None:
    """Return the interpreter that the settings of the module's debugger name."""
    debugger = selection.choose(
        module, module=True, name=adapter, cwd=ctx.caller.cwd, env=ctx.caller.env, config=ctx.config
    ).debugger
    return ctx.config.adapter(debugger.name).interpreter


def _require_tests(runner: Runner, project: Project, session: Session) -> None:
    """Raise NotFound if the runner found no test, with the nearest name."""
    summary = runner.summary(printed(session))
    if summary is None or not summary.nothing:
        return
    requested = project.matching or " ".join(project.selectors)
    if not requested:
        raise NotFound(f"{runner.name} found no tests in {project.cwd}.", next="dbg test PATH")
    known = sorted(set(runner.names(project)))
    near = nearest(requested.rpartition("::")[2], known)
    also = f" Tests with names like it: {', '.join(near[:3])}." if near else ""
    raise NotFound(
        f"{runner.name} found no test for {requested!r}.{also}",
        next=f"dbg test {quoted(near[0])}" if near else "dbg test",
    )


async def _every(
    ctx: Context, session: Session, report: StopReport, timeout: float | None
) -> RunnerReport:
    """Run on to the end; return what ended the run, with every failure on the way."""
    failures: list[Failure] = []
    here = report
    while here.test is not None and here.test.failures and len(failures) < _MOST_FAILURES:
        failures += here.test.failures
        here = await execution.answer_to(ctx, session, session.resume, timeout)
    if here.test is None:
        raise UserError(
            f"the run of tests was interrupted: {here.state}.", code="interrupted", next="dbg await"
        )
    return replace(here.test, failures=tuple(failures), output=Output())
