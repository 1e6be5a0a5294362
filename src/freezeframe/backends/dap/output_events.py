"""Classify DAP `output` events: program output, logpoint messages, or adapter output."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from .adapters._descriptor import Adapter

log = logging.getLogger(__name__)


class OutputClassifier:
    """Classifies the `output` events of one adapter."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        #: a logpoint's message received in part; None outside of one
        self._message: str | None = None

    def classify(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the streams and texts of one `output` event."""
        category = body.get("category") or "console"
        text = str(body.get("output") or "")
        if not text or category in self._adapter.output.ignored:
            return
        if category == "stderr":
            text = self._adapter.output.clean_stderr(text)
        if not text:
            return
        if category in ("stdout", "stderr", "log") and self._adapter.output.of_program:
            yield category, text
            return
        delimiters = self._adapter.output.log_delimiters
        while delimiters is not None and text:
            if self._message is None:
                before, delimiter, text = text.partition(delimiters[0])
                if before:
                    yield from self._console(before)
                if not delimiter:
                    return
                self._message = ""
            before, delimiter, text = text.partition(delimiters[1])
            self._message += before
            if not delimiter:
                return
            yield "log", self._adapter.output.log_text(self._message) + "\n"
            self._message = None
            text = text.removeprefix("\n")
        if text:
            yield from self._console(text)

    def _console(self, text: str) -> Iterator[tuple[str, str]]:
        if self._adapter.output.is_noise(text):
            log.debug("%s: %s", self._adapter.name, text.rstrip())
        else:
            yield "console", text
