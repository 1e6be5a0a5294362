"""What `optimized_probe` tells of frames: whether their code is optimised, and what is gone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe.backends.backend import Target
from freezeframe.backends.optimization import FrameCode, optimized

COMMAND = "freezeframe-optimized"


def ask(target: Target, first: int, count: int, thread: int | None = None) -> str | None:
    """Return the command that tells of frames of a thread (the selected one unless it is named).

    None for a program without optimised code.
    """
    if target.program is None or not optimized(target.program):
        return None
    return f"{COMMAND} {first} {count}" + ("" if thread is None else f" {thread}")


def read(target: Target, text: str) -> list[FrameCode]:
    """Return what is known of each frame; [] for an answer that is none."""
    try:
        return codes(target, json.loads(text[text.index("[") :]))
    except (ValueError, KeyError, TypeError):
        return []


def codes(target: Target, told: Sequence[Mapping[str, Any]]) -> list[FrameCode]:
    """Return how the code of each frame was made, from what the probe tells of it."""
    units = set(optimized(target.program).units) if target.program is not None else set()
    # A compiler that does not tell makes all of a unit in one way.
    units.update(each["unit"] for each in told if each["lists"])
    return [FrameCode(each["unit"] in units, frozenset(each["gone"])) for each in told]


def remark(program: str) -> str | None:
    """Say what LLDB cannot be trusted with in a program that gcc optimised."""
    option = optimized(program).option
    if option is None:
        return None
    name = os.path.basename(program)
    return f"{name} is optimised (gcc {option}): LLDB may show wrong values and miss inlined frames"
