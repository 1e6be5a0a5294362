"""Programs that are run and traced up to their exception, for questions about them."""

from __future__ import annotations

import asyncio
import functools
import os
import tempfile
from pathlib import Path
from textwrap import dedent

from tests.harness.interpreters import interpreters

from freezeframe.backends.backend import Launch
from freezeframe.backends.python.tracing.traced_run import run_traced
from freezeframe.model.questions import Explanation
from freezeframe.model.trace import Trace, TraceRequest
from freezeframe.questions.provenance import explain
from freezeframe.session.source_cache import Sources

#: sys.settrace and sys.monitoring record in different ways
PYTHONS = tuple(dict.fromkeys((interpreters()[0], interpreters()[-1])))


class Run:
    """A traced run of a program up to its exception; *module* is the source of its `lib.py`."""

    def __init__(self, source: str, python: str, module: str = "") -> None:
        self._directory = tempfile.TemporaryDirectory()
        path = Path(self._directory.name).resolve() / "app.py"
        path.write_text(dedent(source).lstrip())
        path.with_name("lib.py").write_text(dedent(module).lstrip())
        self.lines = path.read_text().splitlines()
        target = Launch(str(path), cwd=str(path.parent), env=dict(os.environ), interpreter=python)
        self.trace: Trace = asyncio.run(run_traced(target, TraceRequest((str(path.parent),))))

    def step_at(self, text: str, *, last: bool = False) -> int:
        """Return the first, or the last, step of a line with that text."""
        found = [each for each in self.trace.steps if self.lines[each.line - 1].strip() == text]
        return found[-1 if last else 0].number

    def why(
        self,
        expression: str,
        depth: int = 30,
        expected: str | None = None,
        at: int | None = None,
        calls: int = 0,
    ) -> Explanation:
        step = self.trace.step(self.trace.outcome.step or 0 if at is None else at)
        assert step is not None
        return explain(
            self.trace,
            step.frame,
            step.number,
            expression,
            Sources(),
            depth=depth,
            expected=expected,
            calls=calls,
        )

    def statements(self, expression: str, **options: object) -> list[str]:
        return [each.statement for each in self.why(expression, **options).links]  # type: ignore[arg-type]


@functools.cache
def traced(source: str, python: str, module: str = "") -> Run:
    return Run(source, python, module)
