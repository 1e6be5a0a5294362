"""Run two commands, traced inside, and find where they diverge."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from freezeframe.backends.backend import Launch
from freezeframe.backends.python.tracing.traced_run import run_traced
from freezeframe.errors import NotFound, Unsupported, UsageError
from freezeframe.model.divergence import (
    ComparedCall,
    DivergencePoint,
    OutputDifference,
    ProgramDiff,
    RunEnd,
)
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.trace import Trace, TraceLimits, TraceRequest, TraceUntil
from freezeframe.questions.call_report import too_few
from freezeframe.questions.compared_values import output_difference
from freezeframe.questions.run_comparison import (
    ComparedTrace,
    CompareOptions,
    calls_of,
    compare_runs,
)

from ._context import Context
from ._covered_programs import CoveredProgram, functions_that_differ
from ._launch_args import own_directories
from ._launch_program import LaunchRequest, PreparedLaunch, prepare_launch
from ._stepped_programs import run_stepped
from ._stored_traces import store_trace
from ._suggestions import quoted
from ._worktrees import Worktree, worktree_of

#: seconds for each of the two runs
RUN_S = 60.0
#: seconds for a trace of everything, before only a part is traced; functions of that part
_WHOLE_S, _WHOLE_STEPS = 10.0, 250_000
_MOST_FUNCTIONS = 200
#: outputs up to these sizes are whole
_WHOLE_OUTPUT, _WHOLE_LINES = 12_000, 390
_PYTHON = "Python"
_TEST_FILE = re.compile(r"(?:test_.*|.*_tests?|conftest)\.py|tests?\.py")


@dataclass(frozen=True, slots=True)
class ComparedCommand:
    """One of two commands that are compared."""

    label: str
    request: LaunchRequest
    #: the directory to run it in, and the top directory of that version of the source
    cwd: str
    root: str
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProgramComparison:
    """Two runs compared: the answer, and what its page shows besides."""

    answer: ProgramDiff
    calls: tuple[ComparedCall, ...] = ()
    #: what each of the runs printed, the one that passed first
    outputs: tuple[str, str] = ("", "")
    #: the name of the recorded run that failed
    run: str | None = None

    def facts(self) -> dict[str, object]:
        return {"diff": self.answer, "calls": self.calls, "outputs": self.outputs}


async def compare_commands(
    ctx: Context, a: ComparedCommand, b: ComparedCommand, seconds: float, options: CompareOptions
) -> ProgramComparison:
    """Run both, and return where the one that failed diverges from the other."""
    one, other, notes = await _traced_both(ctx, a, b, seconds)
    return _noted(await compared(ctx, one, other, options), notes)


async def compare_with_revision(
    ctx: Context, revision: str, request: LaunchRequest, seconds: float
) -> ProgramComparison:
    """Run a command in a worktree of *revision* and in the project as it is; compare them."""
    cwd = ctx.caller.cwd
    tests = _named_tests((request.program or "", *request.args), cwd)
    async with worktree_of(ctx, revision, tests) as tree:
        now = ComparedCommand("now", request, cwd, tree.project, ctx.caller.env)
        ready = await prepare_launch(ctx, request)
        # The interpreter of a virtual environment that git does not have.
        then = replace(request, interpreter=ready.target.interpreter or request.interpreter)
        there = ComparedCommand(
            revision, then, tree.inside(cwd), tree.top, paths_inside(tree, ctx.caller.env)
        )
        before, after, notes = await _traced_both(ctx, there, now, seconds)
        found = _noted(await compared(ctx, before, after, CompareOptions()), notes)
        return _in_project(found, tree)


def _noted(found: ProgramComparison, notes: tuple[str, ...]) -> ProgramComparison:
    return replace(found, answer=replace(found.answer, notes=(*notes, *found.answer.notes)))


async def _traced_both(
    ctx: Context, a: ComparedCommand, b: ComparedCommand, seconds: float
) -> tuple[ComparedTrace, ComparedTrace, tuple[str, ...]]:
    """Return the traces of both, and notes about them.

    Where a trace of everything is too much, the programs run once more at nearly full speed, and
    then only those functions are traced that they executed differently.
    """
    short = TraceLimits(_WHOLE_STEPS, seconds=min(seconds, _WHOLE_S))
    whole = TraceLimits(seconds=seconds)
    one, other = await traced(ctx, a, short), await traced(ctx, b, short)
    if not _is_cut(one) and not _is_cut(other):
        return one, other, ()
    try:
        covered = [
            CoveredProgram(target, own_directories(each.root, target), each.root)
            for each in (a, b)
            for target, _ in (await traceable(ctx, each),)
        ]
    except Unsupported:
        return one, other, ()
    await ctx.announce("too many steps: looking for the functions that differ")
    functions = await functions_that_differ(covered[0], covered[1], ctx.hub.sources, seconds)
    if functions and len(functions) <= _MOST_FUNCTIONS:
        around = (*_around_end(one.trace), *_around_end(other.trace))
        chosen = tuple(dict.fromkeys((*functions, *around)))
        one, other = [await traced(ctx, each, whole, chosen) for each in (a, b)]
        count = f"{len(functions)} function{'' if len(functions) == 1 else 's'}"
        shown = ", ".join(functions[:3]) + (" …" if len(functions) > 3 else "")
        return one, other, (f"too long for a whole trace: {count} executed differently: {shown}",)
    same = () if functions else ("both executed the same lines",)
    one, other = await traced(ctx, a, whole), await traced(ctx, b, whole)
    return one, other, same


def _around_end(trace: Trace) -> list[str]:
    """Return the callers of what a run executed when its time was up.

    Only where traced code is executed a trace notices that its time is up, and is complete.
    """
    if trace.outcome.how != "timeout" or not trace.steps:
        return []
    found = []
    at = trace.step(trace.frames[trace.steps[-1].frame].caller or 0)
    while at is not None:
        frame = trace.frames[at.frame]
        found.append(frame.function)
        at = trace.step(frame.caller or 0)
    return found


def _is_cut(side: ComparedTrace) -> bool:
    return bool(side.trace.dropped.steps) or side.trace.outcome.how == "timeout"


def _in_project(comparison: ProgramComparison, tree: Worktree) -> ProgramComparison:
    """Return the answer with paths of the project, as the worktree is gone by now."""

    def moved(path: str) -> str:
        inside = path.startswith(tree.top + os.sep)
        return os.path.join(tree.project, path[len(tree.top) + 1 :]) if inside else path

    def end(each: RunEnd) -> RunEnd:
        return each if each.path is None else replace(each, path=moved(each.path))

    def point(each: DivergencePoint) -> DivergencePoint:
        return replace(each, path=moved(each.path))

    found = comparison.answer
    answer = replace(
        found,
        a=end(found.a),
        b=end(found.b),
        first=None if found.first is None else point(found.first),
        then=tuple(point(each) for each in found.then),
        notes=(*tree.notes, *found.notes),
    )
    calls = tuple(replace(each, point=point(each.point)) for each in comparison.calls)
    return replace(comparison, answer=answer, calls=calls)


def _named_tests(args: Sequence[str], cwd: str) -> tuple[str, ...]:
    """Return the test files that a command names, relative to the project."""
    found = []
    for word in args:
        path = os.path.join(cwd, word.partition("::")[0])
        if os.path.isfile(path) and _TEST_FILE.fullmatch(os.path.basename(path)):
            found.append(os.path.normpath(path))
    top = cwd
    while top != os.path.dirname(top) and not os.path.exists(os.path.join(top, ".git")):
        top = os.path.dirname(top)
    return tuple(os.path.relpath(each, top) for each in found)


def paths_inside(tree: Worktree, env: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which modules of the worktree are found before installed ones.

    A project that is installed in place (`pip install -e`) would run as it is now.
    """
    found = [each for each in (os.path.join(tree.top, "src"), tree.top) if os.path.isdir(each)]
    before = env.get("PYTHONPATH", "")
    own = [tree.inside(each) for each in before.split(os.pathsep) if each]
    return {**env, "PYTHONPATH": os.pathsep.join([*own, *found]), "PWD": tree.top}


async def traced(
    ctx: Context, command: ComparedCommand, limits: TraceLimits, functions: tuple[str, ...] = ()
) -> ComparedTrace:
    """Run a command and return its trace: from inside a Python program, else step by step.

    Of a Python program *functions* alone are traced, if any are named.
    """
    await ctx.announce(f"running {command.label}, traced")
    ready = await _prepared(ctx, command)
    target = ready.target
    if _PYTHON in ready.choice.debugger.languages:
        found = await run_compared(ctx, target, command, limits, functions=functions)
    else:
        trace = await run_stepped(ctx, target, ready.choice, command.root, limits.seconds)
        end = _end_of(trace, command.label, limits.seconds)
        found = ComparedTrace(trace, ctx.hub.sources, command.root, end)
    name = store_trace(ctx, f"{ready.name}-{_name(command.label)}", target, found.trace)
    return replace(found, run=name)


async def _prepared(ctx: Context, command: ComparedCommand) -> PreparedLaunch:
    # The order of sets is chance, and would be a difference that does not matter.
    env = {"PYTHONHASHSEED": "0", **command.env}
    there = replace(ctx, caller=replace(ctx.caller, cwd=command.cwd, env=env))
    return await prepare_launch(there, command.request)


async def traceable(ctx: Context, command: ComparedCommand) -> tuple[Launch, str]:
    """Return the Python program behind a command, and its name. Raises Unsupported."""
    ready = await _prepared(ctx, command)
    if _PYTHON not in ready.choice.debugger.languages:
        raise Unsupported(f"{ready.target.program} is no Python program.")
    return ready.target, ready.name


async def run_compared(
    ctx: Context,
    target: Launch,
    command: ComparedCommand,
    limits: TraceLimits,
    delays: Mapping[str, object] | None = None,
    functions: tuple[str, ...] = (),
) -> ComparedTrace:
    """Run a program to its end or its first failure, with *delays* or without; return its trace."""
    roots = own_directories(command.root, target)
    request = TraceRequest(roots, TraceUntil(failure=True), functions, limits)
    trace = await run_traced(target, request, delays=delays)
    end = _end_of(trace, command.label, limits.seconds)
    return ComparedTrace(trace, ctx.hub.sources, command.root, end)


def _name(label: str) -> str:
    return re.sub(r"\W+", "-", label).strip("-")[:20] or "run"


async def compared(
    ctx: Context, one: ComparedTrace, other: ComparedTrace, options: CompareOptions
) -> ProgramComparison:
    """Return where run *other* diverges from *one*; the one that failed is compared with the other.

    Raises NotFound if one of them executed no code of the project.
    """
    if one.end.failed and not other.end.failed:
        one, other = other, one
        if options.tests is not None:
            options = replace(options, tests=(options.tests[1], options.tests[0]))
    for each in (one, other):
        if not each.trace.steps:
            why = each.trace.remarks[0] if each.trace.remarks else "nothing was executed"
            last = each.trace.output.strip().rpartition("\n")[2]
            raise NotFound(
                f"the run {each.end.label} executed no code of the project: {why}"
                + (f" ({last})." if last else "."),
                next="dbg help diff",
            )
    # A trace may have hundreds of thousands of steps: the daemon answers others meanwhile.
    found = await asyncio.to_thread(compare_runs, one, other, options)
    answer = ProgramDiff(
        one.end,
        other.end,
        found.first,
        found.then,
        found.equal_steps,
        found.equal_functions,
        found.unrelated,
        found.unrelated_example,
        found.edited,
        _output(one.trace.output, other.trace.output),
        (*found.notes, *_bounds(one), *_bounds(other)),
    )
    return ProgramComparison(answer, found.calls, (one.trace.output, other.trace.output), other.run)


async def compare_calls(
    ctx: Context, function: str, numbers: tuple[int, int], target: Launch, seconds: float
) -> ProgramComparison:
    """Run a program once and compare two calls of a function in it."""
    roots = own_directories(ctx.workspace.root, target)
    limits = TraceLimits(seconds=seconds)
    request = TraceRequest(roots, TraceUntil(failure=True), limits=limits)
    trace = await run_traced(target, request)
    calls = calls_of(trace, function)
    if len(calls) < max(numbers):
        made = too_few(len(calls))
        fact = f"the program made {made} of {function} in the workspace's code"
        raise NotFound(
            "; ".join((fact, *trace.remarks)) + ".",
            next=f"dbg trace {quoted(function)} --calls" if calls else "dbg help diff",
        )
    whole = _end_of(trace, "", seconds)
    side = ComparedTrace(trace, ctx.hub.sources, ctx.workspace.root, whole)
    options = CompareOptions(same_input=False, calls=(function, *numbers))
    found = await asyncio.to_thread(compare_runs, side, side, options)
    ends = []
    for number in numbers:
        frame = calls[number - 1]
        how = "returned" if frame.returned is not None else "did not return"
        message = frame.returned.text if frame.returned is not None else None
        if frame.raised is not None:
            how, message = "raised", frame.raised
        arguments = ", ".join(f"{name}={value.text}" for name, value in frame.arguments[:4])
        ends.append(
            RunEnd(
                f"call {number}",
                how,
                frame.raised is not None,
                message,
                frame.path,
                frame.first_line,
                f"{frame.function}({arguments})",
            )
        )
    answer = ProgramDiff(
        ends[0], ends[1], found.first, found.then, edited=found.edited, notes=tuple(_bounds(side))
    )
    return ProgramComparison(answer, found.calls)


def _output(a: str, b: str) -> OutputDifference | None:
    """Return where the outputs differ, if they are whole: only the end of a long one is kept."""
    if max(len(a), len(b)) > _WHOLE_OUTPUT or max(a.count("\n"), b.count("\n")) > _WHOLE_LINES:
        return None
    return output_difference(a, b)


def _bounds(side: ComparedTrace) -> list[str]:
    """Return what was left out of a run, in sentences."""
    label = f"{side.end.label}: " if side.end.label else ""
    notes = [f"{label}{each}" for each in side.trace.remarks]
    if side.trace.dropped.steps:
        notes.append(f"{label}{side.trace.dropped.steps:,} steps in the middle were not kept")
    return notes


def _end_of(trace: Trace, label: str, seconds: float) -> RunEnd:
    outcome = trace.outcome
    failed = outcome.how in ("raised", "killed", "timeout") or bool(outcome.exit_code)
    how = {
        "raised": "failed",
        "timeout": f"did not end within {seconds:g} s",
        "killed": f"was killed by signal {-(outcome.exit_code or 0)}",
    }.get(outcome.how, "passed")
    if outcome.how == "exited" and outcome.exit_code:
        how = f"exited with code {outcome.exit_code}"
    function, path, line = "", outcome.path, outcome.line
    step = trace.step(outcome.step) if outcome.step is not None and failed else None
    if step is not None:
        # What raised it may be in a library.
        frame = trace.frames[step.frame]
        function, path, line = frame.function, frame.path, step.line
    return RunEnd(label, how, failed, outcome.exception, path, line, function, len(trace.steps))


def command_request(args: Sequence[str]) -> LaunchRequest:
    if not args:
        raise UsageError("which command?", next="dbg diff --against HEAD~1 -- pytest tests")
    return LaunchRequest(args[0], tuple(args[1:]))
