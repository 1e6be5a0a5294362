"""Which processes a debugger stays with when the program starts others."""

from __future__ import annotations

from enum import StrEnum


class Forks(StrEnum):
    """What is done about children; the values are the words that users say."""

    #: parent and children, each a session
    BOTH = "follow"
    #: the parent; its children run by themselves
    PARENT = "ignore"
    #: the first child; its parent runs on by itself
    CHILD = "only"


#: what a debugger can do; the first is what it does unless it is told otherwise
Ways = tuple[Forks, ...]

#: of one whose children come to us
FOLLOWS: Ways = (Forks.BOTH, Forks.PARENT)
#: of one that debugs the process that it was given
STAYS: Ways = (Forks.PARENT,)
