"""A prompt, read: bytes in, answers out. No I/O.

An answer has ended when the debugger has done what we sent after the command, which is to print a
token that nobody can guess, *and* asks for the next one. So neither a program that prints a
prompt, nor an answer that comes too late, is ever taken for what it is not.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass

from freezeframe.backends.console.queue import Reply

#: colours, cursor movements, titles; what a terminal would have swallowed
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-Z\\^-~])"
)
#: an escape sequence that has not ended with the bytes so far
_ANSI_PART = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)\Z")
_LONGEST_ESCAPE = 4096
#: how far back a prompt or a token that is split over two chunks can begin
_REACH = 1024


@dataclass(frozen=True, slots=True)
class Said:
    """Words that answer nothing; *early* ones are the beginning of an answer that will come."""

    text: str
    early: bool = False


class PromptDialect:
    """How commands are written to a prompt and their answers told apart.

    *mark* returns the command that prints a token; *marked* is what stands between prompt and
    token when it does. *prompt* is what the prompt looks like, as a regular expression.

    *eager*: the token's command is sent together with each command; for a debugger whose input
    nobody else reads. Else it is sent when a prompt is seen.
    *live*: whole lines of an answer are told as they come, for the program prints there too.
    """

    pipelined = False

    def __init__(
        self,
        mark: Callable[[str], str],
        *,
        prompt: str,
        nonce: str,
        marked: str = "",
        eager: bool = True,
        live: bool = False,
    ) -> None:
        self._mark = mark
        self._nonce = nonce
        self._eager = eager
        self._live = live
        self._untold = ""
        self._prompt = re.compile(prompt)
        self._at_end = re.compile(rf"(?:{prompt})\Z")
        # Of several prompts in a row (empty lines, tokens that came too late) all belong to us.
        self._before = re.compile(rf"(?:{prompt})+(?:{marked})\Z")
        self._leading = re.compile(rf"\A(?:{prompt})+")
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._escape = ""
        self._pieces: list[str] = []
        self._tail = ""
        self._token: int | None = None
        self._asked = True  # the token's command was sent

    # --- writing

    def spell(self, token: int, command: str) -> bytes:
        """Return the bytes of a command; an empty one only waits for the debugger to be there."""
        if self._prompt.fullmatch("".join(self._pieces)):
            self._pieces, self._tail = [], ""  # it has asked again; that is no answer's beginning
        self._untold = ""
        self._token = token
        self._asked = self._eager or not command
        lines = [command] if command else []
        if self._asked:
            lines.append(self._mark(self._word(token)))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")

    def _word(self, token: int) -> str:
        return f"ff{self._nonce}n{token}z"

    # --- reading

    def feed(self, data: bytes) -> list[tuple[int | None, str] | Said | Reply]:
        """Return what is complete now."""
        text = self._clean(data)
        found: list[tuple[int | None, str] | Said | Reply] = []
        if text:
            self._pieces.append(text)
            self._tail = (self._tail + text)[-(len(text) + _REACH) :]
            if self._live and self._token is not None:
                found += self._early(text)
        while self._token is not None:
            if not self._asked:
                if self._at_end.search(self._tail):
                    self._asked = True
                    found.append(Reply(f"{self._mark(self._word(self._token))}\n".encode()))
                break
            answered = self._answer()
            if answered is None:
                break
            found.append(answered)
        if self._token is None and self._pieces:
            found += self._aside()
        return found

    def _early(self, text: str) -> list[Said]:
        """Return the whole lines that have come, up to that of the token."""
        assert self._token is not None
        self._untold += text
        token = self._untold.find(self._word(self._token))
        end = self._untold.rfind("\n", 0, len(self._untold) if token < 0 else token) + 1
        told, self._untold = self._untold[:end], self._untold[end:]
        return [Said(told, early=True)] if told else []

    def _clean(self, data: bytes) -> str:
        """Decode, and take out what only a terminal needs."""
        text = self._escape + self._decoder.decode(data)
        self._escape = ""
        if "\x1b" in text:
            text = _ANSI.sub("", text)
            part = _ANSI_PART.search(text, max(0, len(text) - _LONGEST_ESCAPE))
            if part is not None:
                self._escape = text[part.start() :]
                text = text[: part.start()]
        return text.replace("\r", "")

    def _answer(self) -> tuple[int | None, str] | None:
        assert self._token is not None
        word = self._word(self._token)
        if word not in self._tail:
            return None
        text = "".join(self._pieces)
        start = text.index(word)
        # What the debugger writes behind a token is the rest of that line, and then its prompt;
        # unless the program comes to a stop in that very moment, and it tells that first.
        end = text.find("\n", start)
        asking = None if end < 0 else self._prompt.search(text, end + 1)
        if asking is None:
            return None
        answer = self._before.sub("", text[:start], count=1)
        # One that takes commands while the program runs asks again when that has stopped.
        answer = self._leading.sub("", answer, count=1)
        rest = text[end + 1 : asking.start()] + text[asking.end() :]
        self._pieces = [rest] if rest else []
        self._tail = rest[-_REACH:]
        token, self._token = self._token, None
        return token, answer

    def _aside(self) -> list[tuple[int | None, str] | Said | Reply]:
        """Take what nobody asked for; whole lines only, and no prompts."""
        text = "".join(self._pieces)
        whole, newline, rest = text.rpartition("\n")
        if not newline:
            self._pieces = [text]
            return []
        self._pieces = [rest] if rest else []
        self._tail = rest[-_REACH:]
        return [Said(whole + "\n")]
