"""Run two Python programs at nearly full speed, and find the functions to be traced."""

from __future__ import annotations

import os
from collections.abc import Sequence

from freezeframe.backends.backend import Launch
from freezeframe.backends.python.tracing.covered_run import run_covered
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.questions.covered_functions import CoveredLines, differing_functions
from freezeframe.questions.source_files import SourceLines


@dataclass(frozen=True, slots=True)
class CoveredProgram:
    target: Launch
    #: directories of its own code, and that of the version of the source
    roots: Sequence[str]
    root: str


async def functions_that_differ(
    a: CoveredProgram, b: CoveredProgram, sources: SourceLines, seconds: float
) -> tuple[str, ...]:
    """Run both, each for at most *seconds*; return the functions that they executed differently."""
    one = await _covered(a, sources, seconds)
    other = await _covered(b, sources, seconds)
    return differing_functions(one, other)


async def _covered(program: CoveredProgram, sources: SourceLines, seconds: float) -> CoveredLines:
    found = await run_covered(program.target, program.roots, seconds)
    root = os.path.realpath(program.root)
    relative = {path: os.path.relpath(os.path.realpath(path), root) for path, _ in found}
    texts = {}
    for path, name in relative.items():
        try:
            texts[name] = tuple(sources.lines(path))
        except OSError:
            continue
    lines = {(relative[path], name): executed for (path, name), executed in found.items()}
    return CoveredLines(lines, texts)
