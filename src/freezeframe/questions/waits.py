"""Who waits for whom: a graph of waits, and the cycle in it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.waits import Hold, Holder, Wait, Waiter, WaitFacts

#: waits listed besides a cycle
_MOST_WAITS = 8


@dataclass(frozen=True, slots=True)
class WaitCycle:
    """Threads or tasks that wait for each other: the last one for the first."""

    waiters: tuple[Waiter, ...]
    #: every link was observed: the lock names its owner, or its holder's statement shows it
    is_certain: bool


@dataclass(frozen=True, slots=True)
class _Link:
    """One wait of one waiter for one holder."""

    wait: Wait
    holder: str
    hold: Hold | None = None

    @property
    def is_certain(self) -> bool:
        return self.hold is None or self.hold.is_certain


def find_cycle(facts: WaitFacts) -> WaitCycle | None:
    """Return the shortest cycle of waits; one whose links were all observed goes first."""
    links = _links(facts)
    names = _names(facts)
    found = [path for start in links for path in _cycles(links, start)]
    if not found:
        return None
    path = min(found, key=lambda each: (not all(x.is_certain for x in each), len(each)))
    first = min(range(len(path)), key=lambda at: _order(path[at].wait))
    ordered = [*path[first:], *path[:first]]
    waiters = tuple(
        replace(_described(each.wait), holders=(_holder(each, names),)) for each in ordered
    )
    return WaitCycle(waiters, all(each.is_certain for each in ordered))


def described_waits(facts: WaitFacts, cycle: WaitCycle | None) -> tuple[Waiter, ...]:
    """Return the waits outside of the cycle, equal ones once, those of the user's code first."""
    links, names = _links(facts), _names(facts)
    in_cycle = {each.name for each in cycle.waiters} if cycle is not None else set()
    found: dict[tuple[object, ...], Waiter] = {}
    for wait in sorted(facts.waits, key=lambda each: (each.at is None, not each.kind)):
        if wait.name in in_cycle:
            continue
        holders = tuple(_holder(each, names) for each in links.get(wait.waiter, ()))
        waiter = replace(_described(wait), holders=holders)
        key = (wait.what, wait.at, tuple(each.name for each in holders))
        same = found.get(key)
        found[key] = waiter if same is None else replace(same, alike=same.alike + 1)
    return tuple(found.values())[:_MOST_WAITS]


def _described(wait: Wait) -> Waiter:
    return Waiter(wait.name, wait.what, wait.at, detail=wait.detail, kind=wait.kind)


def _names(facts: WaitFacts) -> dict[str, str]:
    return {each.waiter: each.name for each in facts.waits}


def _holder(link: _Link, names: Mapping[str, str]) -> Holder:
    at = link.hold.at if link.hold is not None else None
    return Holder(names.get(link.holder, link.holder), at, link.is_certain)


def _links(facts: WaitFacts) -> dict[str, list[_Link]]:
    """Return by waiter: the holders that it waits for.

    A wait for one of several (a worker of a pool) is a link only if all of them wait.
    """
    waiting = {each.waiter for each in facts.waits}
    found: dict[str, list[_Link]] = {}
    for wait in facts.waits:
        targets = list(wait.targets)
        if wait.is_any and not all(each in waiting for each in targets):
            targets = []
        elif wait.is_any:
            targets = [each for each in targets if each != wait.waiter] or targets
        links = [_Link(wait, each, _hold_of(facts, wait, each)) for each in targets]
        # A lock that names its owner needs no inference.
        if not targets and wait.resource is not None:
            links += [
                _Link(wait, hold.holder, hold)
                for hold in facts.holds
                if hold.resource == wait.resource
            ]
        found[wait.waiter] = _without_doubles(links)
    return found


def _hold_of(facts: WaitFacts, wait: Wait, target: str) -> Hold | None:
    """Return where a known owner has taken the lock, if its statements show it."""
    for hold in facts.holds:
        if hold.holder == target and hold.resource == wait.resource:
            return replace(hold, is_certain=True)
    return None


def _without_doubles(links: Sequence[_Link]) -> list[_Link]:
    return list({each.holder: each for each in links}.values())


def _cycles(links: Mapping[str, Sequence[_Link]], start: str) -> Iterator[tuple[_Link, ...]]:
    """Yield the shortest cycle through *start*, breadth first."""
    paths: list[tuple[_Link, ...]] = [(each,) for each in links[start]]
    seen: set[str] = set()
    while paths:
        following: list[tuple[_Link, ...]] = []
        for path in paths:
            at = path[-1].holder
            if at == start:
                yield path
                return
            if at not in seen:
                seen.add(at)
                following += [(*path, each) for each in links.get(at, ())]
        paths = following


def _order(wait: Wait) -> tuple[int, str]:
    digits = "".join(filter(str.isdigit, wait.name.partition("(")[0]))
    return (int(digits) if digits else 0, wait.name)
