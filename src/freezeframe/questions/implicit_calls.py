"""Methods that an operator calls: `__getitem__` of `x[1:4]`, `__add__` of `a + b`."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.trace import FrameKind, TracedFrame

from .expressions import Expression, Form

#: what is made by them is not their result
_SILENT = frozenset(("__init__", "__new__", "__enter__", "__exit__", "__set__", "__setitem__"))
#: what reads a field, and what reads an element
_OF_FIELDS = frozenset(("__getattr__", "__getattribute__", "__get__"))
_OF_ELEMENTS = frozenset(("__getitem__", "__missing__", "__class_getitem__"))
#: what a test runner calls where it reports an operation that failed
OF_REPORTS = frozenset(("__repr__", "__str__", "__format__"))


def implicit_call(frames: Sequence[TracedFrame], node: Expression) -> TracedFrame | None:
    """Return the frame of the method that an operator called, of those that its statement called.

    None if it was not traced, or if it cannot be distinguished from another.
    """
    if node.form not in (Form.PART, Form.OPERATION, Form.OTHER) or not node.position[0]:
        return None
    found = [
        frame
        for frame in frames
        if frame.call_site == node.position
        and frame.kind is FrameKind.FUNCTION
        and _is_of(node, frame.function.rpartition(".")[2])
    ]
    return found[0] if len(found) == 1 else None


def _is_of(node: Expression, name: str) -> bool:
    """Whether an expression may call the method of that name."""
    if node.form is Form.PART:
        return name in (_OF_FIELDS if node.name.startswith(".") else _OF_ELEMENTS)
    return _is_operator(name) and name not in OF_REPORTS


def is_called_by_library(frame: TracedFrame, called: str) -> bool:
    """Whether a function that was not traced called a frame for itself: `islice(x)`, `__iter__`."""
    name = frame.function.rpartition(".")[2]
    return _is_operator(name) and name not in ("__call__", called, f"__{called}__")


def _is_operator(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _SILENT
