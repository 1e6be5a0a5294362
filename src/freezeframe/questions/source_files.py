"""The source files of a trace, parsed by language."""

from __future__ import annotations

from typing import Protocol

from .expressions import SourceFile


class SourceLines(Protocol):
    """Lines of source files: `session.source_cache.Sources` has them."""

    def lines(self, path: str) -> list[str]:
        """Return the file's lines. Raises OSError when it cannot be read."""


class Files:
    """The source files of a trace, parsed when they are needed."""

    def __init__(self, sources: SourceLines) -> None:
        self._sources = sources
        self._files: dict[str, SourceFile | None] = {}

    def file(self, path: str) -> SourceFile | None:
        """Return the parsed file; None if it cannot be read."""
        if path not in self._files:
            self._files[path] = self._parsed(path)
        return self._files[path]

    def _parsed(self, path: str) -> SourceFile | None:
        try:
            lines = self._sources.lines(path)
        except OSError:
            return None
        if path.endswith((".py", ".pyw", ".pyi")):
            from .python_source import PythonSource

            try:
                return PythonSource(lines)
            except (SyntaxError, ValueError, RecursionError):
                return None
        from .any_source import AnySource

        return AnySource(lines, path)

    def lines(self, path: str) -> list[str]:
        """Return the file's lines; none if it cannot be read."""
        try:
            return self._sources.lines(path)
        except OSError:
            return []

    def line(self, path: str, number: int) -> str:
        lines = self.lines(path)
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""
