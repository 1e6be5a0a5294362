"""Commands of a debugger that an agent of ours replaces, done by queries of that agent.

Which commands a debugger has is in its own package.
"""

from __future__ import annotations

from freezeframe.errors import Unsupported
from freezeframe.model.values import ScopeKind

from .command_set import CommandSet, ConsoleQuery, FrameRef


def locals_text(commands: CommandSet, at: FrameRef) -> ConsoleQuery[str]:
    """Return the query for the local variables of a frame, one line each."""
    scope = commands.scope(ScopeKind.LOCALS, at)
    assert scope is not None
    return ConsoleQuery(
        scope.command,
        lambda text: "".join(f"{each.name} = {each.text}\n" for each in scope.read(text)),
    )


def value_text(commands: CommandSet, expression: str, at: FrameRef) -> ConsoleQuery[str]:
    """Return the query for the value of an expression, on a line of its own."""
    evaluation = commands.evaluate(expression, at)
    return ConsoleQuery(evaluation.command, lambda text: evaluation.read(text).text + "\n")


def not_passed_on(debugger: str, command: str, replacement: str) -> Unsupported:
    """Return the error for a command that must not happen behind the session's back."""
    return Unsupported(
        f"`{command}` of {debugger} is not passed on: dbg has a command for it.",
        next=f"dbg {replacement}",
    )
