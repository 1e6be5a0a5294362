"""Which processes a debugger follows when the program forks."""

from __future__ import annotations

from enum import StrEnum


class ForkMode(StrEnum):
    """How children are handled; the values are those of the command line."""

    #: parent and children, each in a session
    BOTH = "follow"
    #: the parent; its children run without a debugger
    PARENT = "ignore"
    #: the first child; its parent runs without a debugger
    CHILD = "only"


#: The modes of a debugger; the first is its default.
ForkModes = tuple[ForkMode, ...]

#: Of a debugger whose children connect to us.
FOLLOWS: ForkModes = (ForkMode.BOTH, ForkMode.PARENT)
#: Of a debugger that debugs only the process it was given.
PARENT_ONLY: ForkModes = (ForkMode.PARENT,)
