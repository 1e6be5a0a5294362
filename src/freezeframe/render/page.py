"""What a renderer makes: lines with a tone. A painter turns them into plain text or colour."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .words import harmless, size


class Tone(Enum):
    """What a line is to its reader; a terminal gives each a colour, plain text none."""

    PLAIN = auto()
    REASON = auto()  # why we are here: the first line of a report
    BAD = auto()  # exceptions, failures, what is not as it was asked for
    GOOD = auto()
    CHANGED = auto()
    VALUE = auto()
    SOURCE = auto()
    CURRENT = auto()  # the source line, frame, thread or session that counts
    OUTPUT = auto()
    STDERR = auto()
    LOG = auto()
    HEAD = auto()
    QUIET = auto()  # what was left out, notes, the tool
    NEXT = auto()


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an answer. `text` is the plain form; the rest helps a terminal only."""

    text: str
    tone: Tone = Tone.PLAIN
    #: the columns that `text` is made of; a terminal aligns them
    cells: tuple[str, ...] = ()
    #: source text: where the code begins in `text`, and the file whose name tells the language
    code_at: int = 0
    code_path: str | None = None

    @property
    def size(self) -> int:
        return size(self.text) + 1


def row(*cells: str, tone: Tone = Tone.PLAIN, indent: int = 0) -> Line:
    """Return a line of columns; empty cells at its end vanish, others hold their column."""
    shown = tuple(harmless(cell) for cell in cells)
    while shown and not shown[-1]:
        shown = shown[:-1]
    pad = " " * indent
    text = pad + "  ".join(cell for cell in shown if cell)
    return Line(text, tone, (pad + shown[0], *shown[1:]) if shown else ())


@dataclass(frozen=True, slots=True)
class Style:
    """How lines are painted. `width` is the terminal's, 0 where nobody knows it."""

    colour: bool = False
    width: int = 0


#: Bytes of one variable in a report: enough to know it by; `print` shows more.
VALUE_CHARS = 100

PLAIN = Style()
TERMINAL = Style(colour=True, width=100)


@dataclass(frozen=True, slots=True)
class View:
    """Where the reader stands, and how much he wants to read."""

    cwd: str | None = None
    #: bytes that the answer may cost
    limit: int = 6000
    #: bytes of one line of a value that is shown because all are
    value_chars: int = VALUE_CHARS
    #: one of several answers in one: the current source line is enough
    brief: bool = False
    #: unchanged values stood in the answer just above: their names are enough
    repeated: bool = False

    @property
    def more(self) -> str:
        """The option that shows a good deal more than this view."""
        return f"--budget {self.limit * 2 // 3}"
