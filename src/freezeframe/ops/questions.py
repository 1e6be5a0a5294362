"""Questions about a run: where a value came from."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated

from freezeframe.backends.backend import Launch
from freezeframe.errors import EvaluationFailed, NotFound, UsageError
from freezeframe.model.questions import Explanation
from freezeframe.model.stops import Frame
from freezeframe.questions.any_expressions import is_any_expression
from freezeframe.questions.chain_sources import sources_around
from freezeframe.questions.provenance import DEFAULT_DEPTH, explain
from freezeframe.questions.python_expressions import free_names, is_expression
from freezeframe.session.session import Session
from freezeframe.session.stop_state import StopState

from ._common_args import InFrame
from ._context import Context
from ._failures import is_failure
from ._frames import frame_at
from ._kept_answers import keep_answer
from ._past_backend import PastBackend
from ._registry import Arg, Effect, Needs, op
from ._retrace import traced_again
from ._suggestions import nearest, quoted
from ._test_report import runner_of

#: links of `--all`
_MOST_LINKS = 200
#: calls of a failing test that may have decided a value
_CALLS = 4


@op(
    "why",
    aliases=("origin",),
    group="questions",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    example="why total",
    examples=("why 'cart.items[2].price'", "why total --depth 20"),
)
async def why(
    ctx: Context,
    expression: Annotated[
        str,
        Arg(
            "the value, in the program's language; default: what the current statement evaluates",
            meta="EXPR",
            greedy=True,
            code=True,
        ),
    ] = "",
    *,
    depth: Annotated[
        int | None, Arg("statements to show (default: 7)", short="-d", meta="N")
    ] = None,
    all: Annotated[bool, Arg("every statement that was found")] = False,
    frame: InFrame = None,
) -> Explanation:
    """Show where a value came from: the chain of statements that made it, newest first.

    Each has its location, the values that it read, and the branch that led to it. The program is
    run a second time up to the same stop, traced inside where it is Python and step by step in
    other languages; the stopped program stays as it is. Works for programs that were started here.
    """
    if depth is not None and depth < 1:
        raise UsageError(f"--depth takes 1 or more, not {depth}.", next="dbg why EXPR --depth 20")
    stop = await ctx.session.require_stopped()
    shown = await frame_at(stop, frame)
    is_python = (shown.path or "").endswith((".py", ".pyw"))
    is_valid = is_expression if is_python else is_any_expression
    if expression and not is_valid(expression):
        raise UsageError(f"{expression!r} is not an expression.", next="dbg why NAME")
    if is_python and not isinstance(stop.backend, PastBackend):
        await _require_names(stop, shown, expression)
    links = _MOST_LINKS if all else depth or DEFAULT_DEPTH
    calls = _CALLS if runner_of(ctx.session) is not None and is_failure(stop) else 0
    answer = await explained(ctx, ctx.session, stop, shown, expression, depth=links, calls=calls)
    steps: tuple[str, ...] = ()
    if answer.left_out and not all:
        named = f"{quoted(expression)} " if expression else ""
        steps = (f"why {named}--depth {links * 3}",)
    if answer.links:
        facts = {"why": answer, "sources": sources_around(answer, ctx.session.sources)}
        steps += await keep_answer(ctx, "why", facts, f"{ctx.session.name}-trace")
    return replace(answer, next=steps)


async def _require_names(stop: StopState, frame: Frame, expression: str) -> None:
    """Raise NotFound, with the nearest name, if *expression* has a name without a value."""
    names = free_names(expression)
    known: list[str] = []
    for scope in await stop.scopes(frame.index) if names else ():
        known += [each.name for each in await stop.backend.children(scope.ref) if not each.gone]
    for name in names:
        if name in known:
            continue
        try:  # It may be a builtin. To evaluate a name runs no code of the program.
            await stop.backend.evaluate(name, stop.frame_id(frame.index))
        except EvaluationFailed as error:
            close = nearest(name, known)
            raise NotFound(
                f"{name} has no value in {frame.function}"
                + (f"; the nearest name is {close[0]}." if close else "."),
                next=f"dbg why {close[0]}" if close else "dbg locals",
            ) from error


async def explained(
    ctx: Context,
    session: Session,
    stop: StopState,
    frame: Frame,
    expression: str,
    *,
    depth: int = DEFAULT_DEPTH,
    expected: str | None = None,
    target: Launch | None = None,
    calls: int = 0,
) -> Explanation:
    """Return where the value of *expression* in a frame of a stop came from.

    *expected* is the text of the value that it was compared with, if it was; *target* what to run
    again, if not the whole program; *calls* as `explain` has it. Raises Unsupported if the program
    cannot be run again.
    """
    second = await traced_again(ctx, session, stop, frame, target, expression, expected)
    # A trace may have hundreds of thousands of steps: the daemon answers others meanwhile.
    found = await asyncio.to_thread(
        explain,
        second.trace,
        second.frame,
        second.step,
        expression,
        session.sources,
        depth=depth,
        expected=expected,
        calls=calls,
    )
    return replace(found, notes=second.notes)
