"""Who speaks in an adapter's output: the program, a logpoint, the adapter itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from .adapters._descriptor import Adapter

log = logging.getLogger(__name__)


class Voices:
    """Tells them apart."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        #: a logpoint's message whose end has not come yet; None outside of one
        self._message: str | None = None

    def hear(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the streams and texts that one output event stands for."""
        category = body.get("category") or "console"
        text = str(body.get("output") or "")
        if not text or category in self._adapter.output.ignored:
            return
        if category == "stderr" and self._adapter.output.disguised(text):
            yield from self._console(text)
            return
        if category in ("stdout", "stderr", "log") and self._adapter.output.of_program:
            yield category, text
            return
        marks = self._adapter.output.log_marks
        while marks is not None and text:
            if self._message is None:
                words, mark, text = text.partition(marks[0])
                if words:
                    yield from self._console(words)
                if not mark:
                    return
                self._message = ""
            words, mark, text = text.partition(marks[1])
            self._message += words
            if not mark:
                return
            yield "log", self._adapter.output.log_text(self._message) + "\n"
            self._message = None
            text = text.removeprefix("\n")
        if text:
            yield from self._console(text)

    def _console(self, text: str) -> Iterator[tuple[str, str]]:
        if self._adapter.output.chatter(text):
            log.debug("%s: %s", self._adapter.name, text.rstrip())
        else:
            yield "console", text
