"""Where the value of an expression came from: the chain of writes in a trace that made it."""

from __future__ import annotations

from typing import Protocol

from freezeframe.model.questions import Explanation
from freezeframe.model.trace import Trace

#: links of a chain unless more are requested
DEFAULT_DEPTH = 7


class SourceLines(Protocol):
    """Lines of source files: `session.source_cache.Sources` has them."""

    def lines(self, path: str) -> list[str]:
        """Return the file's lines. Raises OSError when it cannot be read."""


def explain(
    trace: Trace,
    frame: int,
    step: int,
    expression: str,
    sources: SourceLines,
    *,
    depth: int = DEFAULT_DEPTH,
    expected: str | None = None,
) -> Explanation:
    """Return the chain of writes that made the value of *expression*, newest first.

    The expression is evaluated in *frame* before *step* was executed; a step after the last one of
    the frame is its end. *expected* is the text of the value that *expression* was compared with:
    the first part that differs is followed. A chain holds only what the trace recorded; where the
    trace cannot say, `ends` says so.
    """
    return Explanation(expression, ends=("the trace is not read yet",))
