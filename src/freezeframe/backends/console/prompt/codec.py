"""The codec of a prompt: bytes in, answers out. No I/O.

An answer is complete when the debugger has run the command sent after it, which prints an
unguessable token, *and* prompts for the next one. So neither a program that prints a prompt nor a
late answer is ever taken for the answer to a command.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass

from freezeframe.backends.console.command_channel import ImmediateReply

#: colours, cursor movements, titles: what a terminal would interpret
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)"
    r"|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-Z\\^-~])"
)
#: an incomplete escape sequence at the end of the bytes so far
_ANSI_PART = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[ -/]*)\Z")
_LONGEST_ESCAPE = 4096
#: how far back a prompt or a token that is split over two chunks can begin
_REACH = 1024


@dataclass(frozen=True, slots=True)
class UnsolicitedText:
    """Text that answers no command; *early* text is the beginning of an answer to come."""

    text: str
    early: bool = False


class PromptCodec:
    """Encode commands for a prompt and separate their answers.

    *echo* returns the command that prints a token; *marked* matches what the debugger prints
    between prompt and token. *prompt* matches the prompt. Both are regular expressions.

    *eager*: the token's command is sent together with each command; for a debugger whose input
    nothing else reads. Otherwise it is sent when a prompt is seen.
    *live*: whole lines of an answer are reported as they arrive, because the program prints there
    too.
    """

    pipelined = False

    def __init__(
        self,
        echo: Callable[[str], str],
        *,
        prompt: str,
        nonce: str,
        marked: str = "",
        eager: bool = True,
        live: bool = False,
    ) -> None:
        self._echo = echo
        self._nonce = nonce
        self._eager = eager
        self._live = live
        self._unreported = ""
        self._prompt = re.compile(prompt)
        self._at_end = re.compile(rf"(?:{prompt})\Z")
        # Several prompts in a row (empty lines, late tokens) are all the debugger's.
        self._before = re.compile(rf"(?:{prompt})+(?:{marked})\Z")
        self._leading = re.compile(rf"\A(?:{prompt})+")
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._escape = ""
        self._pieces: list[str] = []
        self._tail = ""
        self._token: int | None = None
        self._token_requested = True  # whether the token's command was sent

    # --- writing

    def encode(self, token: int, command: str) -> bytes:
        """Return the bytes of a command; an empty one only waits for the first prompt."""
        if self._prompt.fullmatch("".join(self._pieces)):
            self._pieces, self._tail = [], ""  # a repeated prompt does not begin an answer
        self._unreported = ""
        self._token = token
        self._token_requested = self._eager or not command
        lines = [command] if command else []
        if self._token_requested:
            lines.append(self._echo(self._token_text(token)))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")

    def _token_text(self, token: int) -> str:
        return f"ff{self._nonce}n{token}z"

    # --- reading

    def feed(self, data: bytes) -> list[tuple[int | None, str] | UnsolicitedText | ImmediateReply]:
        """Return the answers and texts that are complete."""
        text = self._clean(data)
        found: list[tuple[int | None, str] | UnsolicitedText | ImmediateReply] = []
        if text:
            self._pieces.append(text)
            self._tail = (self._tail + text)[-(len(text) + _REACH) :]
            if self._live and self._token is not None:
                found += self._take_early_lines(text)
        while self._token is not None:
            if not self._token_requested:
                if self._at_end.search(self._tail):
                    self._token_requested = True
                    found.append(
                        ImmediateReply(f"{self._echo(self._token_text(self._token))}\n".encode())
                    )
                break
            answer = self._answer()
            if answer is None:
                break
            found.append(answer)
        if self._token is None and self._pieces:
            found += self._take_unsolicited()
        return found

    def _take_early_lines(self, text: str) -> list[UnsolicitedText]:
        """Return the whole lines received so far, up to the token's line."""
        assert self._token is not None
        self._unreported += text
        token = self._unreported.find(self._token_text(self._token))
        end = self._unreported.rfind("\n", 0, len(self._unreported) if token < 0 else token) + 1
        lines, self._unreported = self._unreported[:end], self._unreported[end:]
        return [UnsolicitedText(lines, early=True)] if lines else []

    def _clean(self, data: bytes) -> str:
        """Decode, and remove terminal escape sequences."""
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
        token_text = self._token_text(self._token)
        if token_text not in self._tail:
            return None
        text = "".join(self._pieces)
        start = text.index(token_text)
        # The debugger writes the rest of the line after a token, and then its prompt; unless the
        # program stops at that very moment, which is reported before the prompt.
        end = text.find("\n", start)
        prompt = None if end < 0 else self._prompt.search(text, end + 1)
        if prompt is None:
            return None
        answer = self._before.sub("", text[:start], count=1)
        # A debugger that takes commands while the program runs prompts again after a stop.
        answer = self._leading.sub("", answer, count=1)
        rest = text[end + 1 : prompt.start()] + text[prompt.end() :]
        self._pieces = [rest] if rest else []
        self._tail = rest[-_REACH:]
        token, self._token = self._token, None
        return token, answer

    def _take_unsolicited(self) -> list[tuple[int | None, str] | UnsolicitedText | ImmediateReply]:
        """Take unsolicited text; whole lines only, and no prompts."""
        text = "".join(self._pieces)
        whole, newline, rest = text.rpartition("\n")
        if not newline:
            self._pieces = [text]
            return []
        self._pieces = [rest] if rest else []
        self._tail = rest[-_REACH:]
        return [UnsolicitedText(whole + "\n")]
