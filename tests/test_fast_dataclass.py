"""Our `dataclass` makes of a class what the standard one makes of it."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest

from freezeframe.model import fast_dataclass


def make(how: Any) -> tuple[type, ...]:
    @how(frozen=True, slots=True)
    class Pair:
        first: int
        second: list[int] | float | None = None
        aside: str = dataclasses.field(default="", repr=False, compare=False)

    @how(frozen=True, slots=True)
    class One:
        value: float

    @how(slots=True)
    class Held:
        count: int = 0

    @how(slots=True)
    class Made:
        count: int
        parts: list[int] = dataclasses.field(default_factory=list)
        total: int = dataclasses.field(default=0, init=False)

        def __post_init__(self) -> None:
            self.total += 2 * self.count

    @how(frozen=True, slots=True, kw_only=True)
    class Options:
        short: str = ""
        several: tuple[str, ...] = ()

    @how(frozen=True, slots=True)
    class Named(Options):
        help: str

    return Pair, One, Held, Made, Named


NOT_A_NUMBER = float("nan")
STANDARD = make(dataclasses.dataclass)
OURS = make(fast_dataclass.dataclass)


@pytest.mark.parametrize("kinds", [STANDARD, OURS], ids=["standard", "ours"])
def test_what_is_the_same_of_both(kinds):
    pair, one, held, made, named = kinds

    assert pair(1, 2.0) == pair(1, 2.0, "aside")
    assert pair(1, 2.0) != pair(1, 3.0)
    assert pair(1) != one(1)
    assert pair(1).__eq__(one(1)) is NotImplemented
    assert len({pair(1), pair(1, aside="x"), pair(2)}) == 2
    assert one(NOT_A_NUMBER) == one(NOT_A_NUMBER)
    assert held(1) == held(1)
    assert named("h", short="s").short == "s"
    with pytest.raises(TypeError):
        named("h", "s")
    assert repr(pair(1, [2])).endswith("Pair(first=1, second=[2])")
    assert repr(held()).endswith("Held(count=0)")
    assert dataclasses.replace(pair(1), first=2) == pair(2)
    assert dataclasses.asdict(pair(1)) == {"first": 1, "second": None, "aside": ""}
    assert pair.__match_args__ == ("first", "second", "aside")
    with pytest.raises(dataclasses.FrozenInstanceError):
        pair(1).first = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        del pair(1).first
    assert copy.deepcopy(pair(1, [2])) == pair(1, [2])
    assert made(1).parts is not made(1).parts
    assert (made(1).parts, made(1, parts=[3]).parts, made(2).total) == ([], [3], 4)
    with pytest.raises(TypeError, match="positional argument"):
        made()
    with pytest.raises(TypeError, match="unhashable"):
        hash(held())
    with pytest.raises(TypeError, match="unhashable"):
        hash(pair(1, [2]))
    with pytest.raises(AttributeError):
        held().other = 1


def test_a_method_that_a_class_has_stays():
    @fast_dataclass.dataclass(frozen=True, slots=True)
    class Quiet:
        secret: str

        def __repr__(self) -> str:
            return "Quiet"

    assert repr(Quiet("x")) == "Quiet"
    assert Quiet("x") == Quiet("x")
