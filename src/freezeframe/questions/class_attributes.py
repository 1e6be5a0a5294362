"""Attributes that a class or a module defines, found in the trace of its body."""

from __future__ import annotations

from freezeframe.model import late_regex
from freezeframe.model.trace import FrameKind, TracedFrame, TracedValue

from .expressions import StatementKind
from .trace_index import NEVER, StepWrite, TraceIndex
from .traced_values import SILENT_TYPES, TracedValues, is_same

_CLASS = late_regex.compile(r"<class '(?:[\w.<>]*\.)?(\w+)'>")
_MODULE = late_regex.compile(r"<module '[\w.]+' from '(.+)'>")
_METACLASSES = frozenset(("type", "ABCMeta", "EnumType", "EnumMeta"))
#: classes above one another: more is no hierarchy that people write
_MOST_BASES = 12


def attribute_write(
    values: TracedValues, owner: TracedValue | None, name: str, attribute: str
) -> StepWrite | None:
    """Return the statement of a class body or module that gave *attribute* its value.

    *owner* is an instance, a class or a module; *name* what the source calls it, used where the
    trace has no value. None if the trace does not have the body, or if several could be meant.
    """
    if owner is not None and owner.type == "module":
        found = _MODULE.match(owner.text)
        frames = [
            each
            for each in values.index.frames.values()
            if found and each.kind is FrameKind.MODULE and each.path == found[1]
        ]
        return _written(values, frames[0], attribute) if len(frames) == 1 else None
    if owner is None:
        class_name = name
    else:
        named = _CLASS.match(owner.text) if owner.type in _METACLASSES else None
        class_name = named[1] if named else owner.type
    return _inherited(values, class_name, attribute, 0)


def imported_write(values: TracedValues, name: str, value: TracedValue | None) -> StepWrite | None:
    """Return the statement of the module that defines what another one imports by this name."""
    if value is None or value.type in SILENT_TYPES:
        return None
    frames = [each for each in values.index.frames.values() if each.kind is FrameKind.MODULE]
    found = [_written(values, each, name) for each in frames]
    known = [
        each
        for each in found
        if each is not None
        and is_same(value, each.write.new)
        and (statement := values.execution(each.step).statement) is not None
        and statement.kind is not StatementKind.DEFINITION
    ]
    return known[0] if len(known) == 1 else None


def _inherited(
    values: TracedValues, class_name: str, attribute: str, depth: int
) -> StepWrite | None:
    frames = [
        each
        for each in values.index.frames.values()
        if each.kind is FrameKind.CLASS and each.function.rpartition(".")[2] == class_name
    ]
    if len(frames) != 1 or depth > _MOST_BASES:
        return None
    [frame] = frames
    own = _written(values, frame, attribute)
    if own is not None:
        return own
    source = values.files.file(frame.path)
    bases = source.bases(frame.first_line) if source is not None else ()
    found = [_inherited(values, each, attribute, depth + 1) for each in bases]
    known = [each for each in found if each is not None]
    # With several bases the order of a diamond decides: nothing is said then.
    return known[0] if len({each.step.number for each in known}) == 1 else None


def _written(values: TracedValues, frame: TracedFrame, attribute: str) -> StepWrite | None:
    found = values.index.variable_write(frame.number, attribute, NEVER)
    if found is None and frame.kind is FrameKind.MODULE and frame.namespace is not None:
        found = values.index.part_write(frame.namespace, f".{attribute}", NEVER)
    return found


def is_missing(index: TraceIndex, owner: TracedValue, part: str, moment: int) -> bool:
    """Whether the trace has the fields of an object, and this is none of them."""
    if owner.object is None or not part.startswith("."):
        return False
    names = {each.write.name for each in index.writes_of_parts(owner.object, moment)}
    return bool(names) and part not in names
