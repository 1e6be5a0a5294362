"""The renderer of each kind of answer. A test fails for a kind without one."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeVar

from freezeframe.render.budget import HEADLINE, Fixed, Resizable, Section
from freezeframe.render.formatting import LEAST_LINE, clip, commands, escape_control
from freezeframe.render.styled_lines import Line, Tone, View

A = TypeVar("A")
Renderer = Callable[[A, View], Sequence[Section]]

RENDERERS: dict[type, Renderer[Any]] = {}

#: Modules of this package to look into first, by the module of the answer. Importing all of them
#: would take a tenth of the time of the first command.
_TOPICS = {
    "answers": ("sessions", "stops", "values", "breakpoints", "frames", "source", "output"),
    "calls": ("tracing",),
    "history": ("history", "diffs"),
    "questions": ("questions",),
    "setup_answers": ("admin",),
}


def renders(kind: type[A]) -> Callable[[Renderer[A]], Renderer[A]]:
    """Register the decorated function as the renderer of answers of *kind*."""

    def register(function: Renderer[A]) -> Renderer[A]:
        if kind in RENDERERS:
            raise ValueError(f"{kind.__name__} has a renderer already")
        RENDERERS[kind] = function
        return function

    return register


def sections(answer: object, view: View) -> Sequence[Section]:
    """Return the sections of *answer*."""
    kind = type(answer)
    for topic in _TOPICS.get(kind.__module__.rpartition(".")[2], ()):
        if kind not in RENDERERS:
            import_module(f"{__package__}.{topic}")
    if kind not in RENDERERS:
        load_all()
    return RENDERERS[kind](answer, view)


def load_all() -> None:
    """Import every module that has renderers."""
    import pkgutil

    for each in pkgutil.iter_modules([os.path.dirname(__file__)]):
        import_module(f"{__package__}.{each.name}")


# --- pieces that most answers share -------------------------------------------------------------


def headline(text: str, tone: Tone = Tone.REASON) -> Fixed:
    """Return a first line, which is never elided, so it must be short."""
    return Fixed(0, (Line(clip(text, HEADLINE), tone),))


def wrapped_in(rank: int, text: str, tone: Tone = Tone.PLAIN) -> Resizable:
    """Return one line that is elided to fit the budget."""
    return Resizable(rank, lambda limit: [Line(clip(text, limit - 1), tone)], LEAST_LINE + 1)


def via(tool: str | None, rank: int = 8) -> list[Section]:
    return [Fixed(rank, (Line(f"via {escape_control(tool)}", Tone.QUIET),))] if tool else []


def next_step(next: Sequence[str], rank: int = 7) -> list[Section]:
    return [Fixed(rank, (Line(f"next: {commands(next)}", Tone.NEXT),))] if next else []


def budget_for(text_bytes: int) -> int:
    """Return the `--budget` that shows *text_bytes*, rounded up."""
    needed = text_bytes // 3 + 50
    step = int("1" + "0" * max(1, len(str(needed)) - 2))
    return -(-needed // step) * step
