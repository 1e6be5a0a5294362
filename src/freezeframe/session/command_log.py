"""The commands of a workspace and their answers, for people who watch."""

from __future__ import annotations

import time
from collections import deque

from freezeframe.model.fast_dataclass import dataclass

_MAX_COMMANDS = 500
#: characters of one answer that are kept
_MAX_TEXT = 8000


@dataclass(slots=True)
class LoggedCommand:
    """A command that was given. `ok` is None until it was answered."""

    #: larger than that of every command that changed before
    cursor: int
    number: int
    #: seconds since 1970
    at: float
    #: `agent`, `person`, or the name of an editor
    caller: str
    text: str
    session: str | None = None
    ok: bool | None = None
    answer: str = ""
    took_s: float | None = None


class CommandLog:
    """The last commands of one workspace. Lives in the event loop."""

    def __init__(self) -> None:
        self._commands: deque[LoggedCommand] = deque(maxlen=_MAX_COMMANDS)
        self._numbers = 0
        #: the cursor of the next change
        self.end = 1

    def begin(self, caller: str, text: str) -> LoggedCommand:
        self._numbers += 1
        entry = LoggedCommand(0, self._numbers, time.time(), caller, text)
        self._changed(entry)
        self._commands.append(entry)
        return entry

    def finish(self, entry: LoggedCommand, *, session: str | None, ok: bool, answer: str) -> None:
        entry.session, entry.ok = session, ok
        entry.answer = answer if len(answer) <= _MAX_TEXT else answer[:_MAX_TEXT] + "…"
        entry.took_s = time.time() - entry.at
        self._changed(entry)

    def since(self, cursor: int) -> list[LoggedCommand]:
        """Return the commands that were given or answered from *cursor* on."""
        return [entry for entry in self._commands if entry.cursor >= cursor]

    def _changed(self, entry: LoggedCommand) -> None:
        entry.cursor = self.end
        self.end += 1
