"""Updates that another thread overwrote, in a trace: what a race leaves behind."""

from __future__ import annotations

import itertools

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.trace import Trace, TracedStep, TracedValue

from .trace_index import TraceIndex

#: steps that are looked at
_MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class LostUpdate:
    """A value that a thread wrote while another one, which had not read it, wrote the same name."""

    name: str
    #: where it was read, and where it was written although it had changed
    path: str
    read_line: int
    line: int
    function: str
    thread: str
    read: str
    #: the value after `line`; whether that line was seen to change it
    left: str
    is_written: bool
    #: what the other thread had written meanwhile, and where
    other_thread: str
    other_line: int
    other_path: str
    lost: str


@dataclass(frozen=True, slots=True)
class _SharedWrite:
    step: TracedStep
    thread: str
    new: TracedValue
    #: whether the step changed the value. Otherwise its line did so at another time, and *new* is
    #: the value that was there already
    is_seen: bool
    #: what this frame had read last, and in which step
    read: TracedValue | None
    read_step: TracedStep | None


def lost_update(trace: Trace) -> LostUpdate | None:
    """Return the first update that was lost; None if none was seen."""
    if len({frame.thread for frame in trace.frames.values()}) < 2:
        return None
    index = TraceIndex(trace)
    for (_, name), writes in _shared(trace, index).items():
        if len({each.thread for each in writes}) < 2:
            continue
        for before, each in itertools.pairwise(writes):
            if before.thread == each.thread or each.read is None or each.read_step is None:
                continue
            if not before.is_seen:
                continue  # which value it wrote, if any, is not known
            # A thread that had seen the other's value would have read it.
            if each.read.text == before.new.text or each.new.text == before.new.text == "None":
                continue
            if each.read_step.number > before.step.number and each.read_step is not each.step:
                continue
            frame = index.frames[each.step.frame]
            other = index.frames[before.step.frame]
            return LostUpdate(
                name,
                frame.path,
                each.read_step.line,
                each.step.line,
                frame.function,
                each.thread,
                each.read.text,
                each.new.text,
                each.is_seen,
                before.thread,
                before.step.line,
                other.path,
                before.new.text,
            )
    return None


def _shared(trace: Trace, index: TraceIndex) -> dict[tuple[int, str], list[_SharedWrite]]:
    """Return the writes of each field and global variable, in the order of their steps.

    A thread that writes the value which is there already changes nothing: lines that wrote a field
    once write it each time.
    """
    steps = trace.steps[:_MOST_STEPS]
    storing: dict[tuple[str, int], set[str]] = {}
    written: dict[int, dict[tuple[int, str], TracedValue]] = {}
    for step in steps:
        for write in step.writes:
            if write.owner is None or write.new is None or not write.by_step:
                continue
            if write.new.object is None:
                storing.setdefault((index.frames[step.frame].path, step.line), set()).add(
                    write.name
                )
                written.setdefault(step.number, {})[write.owner, write.name] = write.new
    found: dict[tuple[int, str], list[_SharedWrite]] = {}
    #: frame → field → the value that it read last, and in which step
    reads: dict[int, dict[tuple[int, str], tuple[TracedValue, TracedStep]]] = {}
    for step in steps:
        own = reads.setdefault(step.frame, {})
        for read in step.reads:
            if read.owner is not None:
                own[read.owner, read.name] = (read.value, step)
        frame = index.frames[step.frame]
        seen = written.get(step.number, {})
        made = dict(seen)
        for key in own if (frame.path, step.line) in storing else ():
            if key in found and key[1] in storing[frame.path, step.line]:
                made.setdefault(key, found[key][-1].new)
        for key, new in made.items():
            value, at = own.get(key, (None, None))
            shared = _SharedWrite(step, frame.thread, new, key in seen, value, at)
            found.setdefault(key, []).append(shared)
    return found
