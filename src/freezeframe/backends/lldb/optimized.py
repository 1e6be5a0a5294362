"""Parse `optimized_agent`'s answers: which frames are optimised, and which members are lost."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.backends.backend import Target
from freezeframe.backends.optimization import FrameCode, optimized

COMMAND = "freezeframe-optimized"


def command(target: Target, first: int, count: int, thread: int | None = None) -> str | None:
    """Return the command that describes frames of a thread (default: the selected one).

    None for a program without optimised code.
    """
    if target.program is None or not optimized(target.program):
        return None
    return f"{COMMAND} {first} {count}" + ("" if thread is None else f" {thread}")


def read(target: Target, text: str) -> list[FrameCode]:
    """Return the description of each frame; [] for an invalid answer."""
    try:
        return codes(target, json.loads(text[text.index("[") :]))
    except (ValueError, KeyError, TypeError):
        return []


def codes(target: Target, reported: Sequence[Mapping[str, Any]]) -> list[FrameCode]:
    """Return how the code of each frame was compiled, from the agent's answer."""
    units = set(optimized(target.program).units) if target.program is not None else set()
    # A compiler that does not record its options compiles all of a unit in one way.
    units.update(each["unit"] for each in reported if each["lists"])
    return [FrameCode(each["unit"] in units, frozenset(each["gone"])) for each in reported]


def remark(program: str) -> str | None:
    """Warn about a program that gcc optimised."""
    option = optimized(program).option
    if option is None:
        return None
    name = os.path.basename(program)
    return f"{name} is optimised (gcc {option}): LLDB may show wrong values and miss inlined frames"
