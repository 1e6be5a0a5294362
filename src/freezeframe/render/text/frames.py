"""Stacks: user frames, with library frames and recursion folded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from freezeframe.model.answers import Backtrace, FrameAnswer, Stack, Threads
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.stops import Frame, Task, Thread
from freezeframe.render.budget import Capped, Listing, Section
from freezeframe.render.formatting import clip, number, one_line, plural
from freezeframe.render.styled_lines import Line, Tone, View, row

from ._registry import headline, next_step, renders, via, wrapped_in
from .one_value import assigned
from .source import source_sections
from .truncated_values import cut_in_scopes
from .values import changed_values, in_frame, unchanged_values

F = TypeVar("F")

#: A recursion of at least this many rounds is folded.
_ROUNDS = 5
#: bytes of a task's name: the first at which all names differ
_NAME_WIDTHS = (40, 80, 160, 320)


@dataclass(frozen=True, slots=True)
class Fold:
    """Frames that are folded into one line."""

    count: int
    what: str


@dataclass(frozen=True, slots=True)
class Traits:
    """What folding needs to know about a frame or a traceback line."""

    path: str | None
    function: str
    library: bool
    #: never folded: the innermost frame, the selected one
    shown: bool = False

    def same_code(self, other: Traits) -> bool:
        return (self.path, self.function) == (other.path, other.function)


def fold(frames: Sequence[F], traits_of: Callable[[F], Traits]) -> list[F | Fold]:
    """Return the frames with sequences of library frames and recursion folded.

    The first and the last round of a recursion stay; it may involve up to four functions.
    """
    traits = [traits_of(frame) for frame in frames]
    folded: list[F | Fold] = []
    i = 0
    while i < len(frames):
        period, rounds = _recursion(traits, i)
        last = i + period * (rounds - 1)
        if period and not any(t.library or t.shown for t in traits[i + period : last]):
            names = ", ".join(dict.fromkeys(clip(t.function, 40) for t in traits[i : i + period]))
            folded.extend(frames[i : i + period])
            folded.append(Fold(last - i - period, f"more frames of {names}"))
            folded.extend(frames[last : last + period])
            i = last + period
            continue
        start = i
        while i < len(frames) and traits[i].library and not traits[i].shown:
            i += 1
        if i > start:
            folded.append(Fold(i - start, "library frame" if i - start == 1 else "library frames"))
            continue
        folded.append(frames[i])
        i += 1
    return folded


def _recursion(traits: Sequence[Traits], start: int) -> tuple[int, int]:
    """Return (period, rounds) of the recursion that begins at *start*, (0, 0) for none."""
    for period in range(1, 5):
        end = start + period
        while end < len(traits) and traits[end].same_code(traits[end - period]):
            end += 1
        rounds = (end - start) // period
        if rounds >= _ROUNDS:
            return period, rounds
    return 0, 0


def thread_text(thread: Thread) -> str:
    name = clip(thread.name, 40)
    return f"thread {thread.id} ({name})" if name else f"thread {thread.id}"


@renders(Backtrace)
def _backtrace(answer: Backtrace, view: View) -> list[Section]:
    sections: list[Section] = []
    if answer.exception:
        sections.append(wrapped_in(0, f"exception: {answer.exception}", Tone.BAD))
    if answer.running:
        sections.append(headline("running: its threads were here when they were read"))
    titled = len(answer.stacks) > 1 or answer.running
    for stack in sorted(answer.stacks, key=lambda stack: not stack.thread.current):
        sections.append(_stack(stack, answer.unfold, view, titled=titled))
    if not answer.stacks:
        sections.append(headline("no frames"))
    sections += task_sections(answer.tasks, 2, view)
    sections += [wrapped_in(1, f"note: {note}", Tone.QUIET) for note in answer.notes]
    return [*sections, *next_step(answer.next), *via(answer.via)]


def stack_sections(stacks: Sequence[Stack], rank: int, view: View) -> list[Section]:
    """Return the stacks of threads other than the one that the report is about."""
    return [Capped(_stack(stack, False, view, titled=True, rank=rank), 1200) for stack in stacks]


def task_sections(tasks: Sequence[Task], rank: int, view: View) -> list[Section]:
    """Return one line for each task: its name, what it does, where."""
    if not tasks:
        return []

    room = _width_of_names({task.name for task in tasks})

    def item(index: int, width: int) -> list[Line]:
        task = tasks[index]
        state = f"awaits {clip(task.awaits, 60)}" if task.awaits else one_line(task.state)
        where = in_frame(task.frame, view.cwd) if task.frame else ""
        by = f"for {clip(task.awaited_by, room)}" if task.awaited_by else ""
        return [row(f"  {clip(task.name, room)}", state, where, by)]

    def more(shown: int) -> str | None:
        missing = len(tasks) - shown
        return f"  … {plural(missing, 'more task')} (dbg threads {view.more})" if missing else None

    return [Listing(rank, len(tasks), item, more, head=(Line("tasks:", Tone.HEAD),))]


def _width_of_names(names: set[str]) -> int:
    """Return the least width at which different names are different texts."""
    for width in _NAME_WIDTHS:
        if len({clip(name, width) for name in names}) == len(names):
            return width
    return _NAME_WIDTHS[-1]


def _stack(
    stack: Stack, unfold: bool, view: View, *, titled: bool, rank: int | None = None
) -> Section:
    frames = stack.frames

    def traits(frame: Frame) -> Traits:
        shown = frame.index in (0, stack.selected) or frame.index in stack.values
        return Traits(frame.path, frame.function, frame.library, shown)

    folded = fold(frames, traits)
    entries: Sequence[Frame | Fold] = frames if unfold else folded
    digits = len(str(frames[-1].index)) if frames else 1

    def item(index: int, width: int) -> list[Line]:
        entry = entries[index]
        if isinstance(entry, Fold):
            text = f"   … {number(entry.count)} {entry.what} (dbg backtrace --all)"
            return [Line(text, Tone.QUIET)]
        selected = entry.index == stack.selected
        mark = "->" if selected else "  "
        where = in_frame(entry, view.cwd, arguments=entry.index not in stack.values)
        text = f"{mark} {entry.index:>{digits}}  {where}"
        if entry.suspended:
            text = f"{text}, awaiting in task {clip(entry.task or '', 40)}"
        lines = [Line(text, Tone.CURRENT if selected else Tone.PLAIN)]
        pad = " " * (digits + 5)
        for value in stack.values.get(entry.index, ()):
            lines.append(Line(pad + assigned(value, width - len(pad), mark=False), Tone.VALUE))
        return lines

    def more(shown: int) -> str | None:
        hidden = sum(e.count if isinstance(e, Fold) else 1 for e in entries[shown:])
        if stack.error:
            return f"   no frames: {clip(stack.error, 100)}"
        if stack.more is None:
            return f"   … more frames (dbg backtrace --limit {2 * max(len(frames), 10)})"
        if not hidden + stack.more:
            return None if frames else "   no frames"
        total = len(frames) + stack.more
        hint = f"dbg backtrace --limit {total}" if stack.more else f"dbg backtrace {view.more}"
        return f"   … {plural(hidden + stack.more, 'more frame')} ({hint})"

    state = "" if stack.thread.state == "stopped" else f", {one_line(stack.thread.state)}"
    title = Line(f"{thread_text(stack.thread)}{state}:", Tone.HEAD)
    if rank is None:
        rank = 1 if stack.thread.current or not titled else 2
    return Listing(
        rank,
        len(entries),
        item,
        more,
        head=(title,) if titled else (),
    )


@renders(FrameAnswer)
def _frame(answer: FrameAnswer, view: View) -> list[Section]:
    frame = answer.frame
    depth = f" of {answer.depth}" if answer.depth is not None else ""
    sections: list[Section] = [
        headline(f"frame {frame.index}{depth}: {in_frame(frame, view.cwd)}"),
    ]
    if answer.note:
        sections.append(wrapped_in(1, f"note: {answer.note}", Tone.QUIET))
    return [
        *sections,
        *source_sections(answer.source, 2, current_only=False),
        *changed_values(answer.scopes, 1),
        *unchanged_values(answer.scopes, 3, view, names_only=False),
        *cut_in_scopes(answer.scopes, view, 4, marked=False),
        *via(answer.via),
    ]


@renders(Threads)
def _threads(answer: Threads, view: View) -> list[Section]:
    threads = answer.threads

    def item(index: int, width: int) -> list[Line]:
        thread = threads[index]
        where = in_frame(thread.frame, view.cwd) if thread.frame else ""
        return [
            row(
                f"{'*' if thread.current else ' '} {thread.id}",
                clip(thread.name, 60),
                one_line(thread.state),
                where,
                tone=Tone.CURRENT if thread.current else Tone.PLAIN,
            )
        ]

    def more(shown: int) -> str | None:
        missing = len(threads) - shown
        return f"… {plural(missing, 'more thread')} (dbg threads {view.more})" if missing else None

    if not threads:
        return [headline("no threads"), *next_step(answer.next)]
    return [
        Listing(1, len(threads), item, more),
        *task_sections(answer.tasks, 2, view),
        *next_step(answer.next),
        *via(answer.via),
    ]
