"""Lines with a tone, the output of renderers; they become plain text or coloured text."""

from __future__ import annotations

from enum import Enum, auto

from freezeframe.model.fast_dataclass import dataclass

from .formatting import escape_control, size


class Tone(Enum):
    """The role of a line; a terminal gives each a colour, plain text none."""

    PLAIN = auto()
    REASON = auto()  # the reason of a stop: the first line of a report
    BAD = auto()  # exceptions, failures, what differs from the request
    GOOD = auto()
    CHANGED = auto()
    VALUE = auto()
    SOURCE = auto()
    CURRENT = auto()  # the current source line, frame, thread or session
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
    #: the columns of `text`; a terminal aligns them
    cells: tuple[str, ...] = ()
    #: source text: the offset of the code in `text`, and the file whose name gives the language
    code_at: int = 0
    code_path: str | None = None

    @property
    def size(self) -> int:
        # A newline within is written as two characters.
        return size(self.text) + self.text.count("\n") + 1


def row(*cells: str, tone: Tone = Tone.PLAIN, indent: int = 0) -> Line:
    """Return a line of columns; empty cells at the end are dropped, others keep their column."""
    shown = tuple(escape_control(cell) for cell in cells)
    while shown and not shown[-1]:
        shown = shown[:-1]
    pad = " " * indent
    text = pad + "  ".join(cell for cell in shown if cell)
    return Line(text, tone, (pad + shown[0], *shown[1:]) if shown else ())


@dataclass(frozen=True, slots=True)
class Style:
    """How lines are painted. `width` is the terminal's, 0 if unknown."""

    colour: bool = False
    width: int = 0


#: Bytes of one variable in a report; `print` shows more.
VALUE_CHARS = 100

PLAIN = Style()
TERMINAL = Style(colour=True, width=100)


@dataclass(frozen=True, slots=True)
class View:
    """The reader's directory, and how much to show."""

    cwd: str | None = None
    #: maximum bytes of the answer
    limit: int = 6000
    #: bytes of one line of a value in a listing
    value_chars: int = VALUE_CHARS
    #: part of a batch: show only the current source line
    brief: bool = False
    #: the answer above shows the unchanged values: show only their names
    repeated: bool = False

    @property
    def more(self) -> str:
        """The option that shows much more than this view."""
        return f"--budget {self.limit * 2 // 3}"
