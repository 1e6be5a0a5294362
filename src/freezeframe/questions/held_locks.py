"""Which locks a function holds at a line, and which one a line takes: by its statements. Pure.

For languages whose locks do not know their owner. A lock is held if a statement that must have
been executed took it, in the block of the line or a block around it, and nothing released it since.
"""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass

from .source_patterns import code_of

_PATH = r"[A-Za-z_][\w.:\[\]>-]*"
#: a statement that takes a lock: its expression, and the variable of its guard
_TAKES = (
    # C: pthread_mutex_lock(&a), mtx_lock(&a)
    late_regex.compile(
        r"\b(?:pthread_mutex_lock|pthread_rwlock_(?:rd|wr)lock|mtx_lock|pthread_spin_lock)"
        r"\s*\(\s*(?P<address>[^()]+?)\s*\)"
    ),
    # C++: std::lock_guard<std::mutex> g(m), std::scoped_lock g{m}
    late_regex.compile(
        r"\b(?:lock_guard|unique_lock|scoped_lock|shared_lock)\b(?:<[^;]*>)?\s+(?P<guard>\w+)\s*"
        r"[({]\s*(?P<lock>[^(){},]+?)\s*[)},]"
    ),
    # Rust: let g = a.lock().unwrap();
    late_regex.compile(
        rf"\blet\s+(?:mut\s+)?(?P<guard>\w+)(?:\s*:[^=]+)?\s*=\s*(?P<lock>{_PATH})"
        r"\.(?:lock|read|write)\(\)(?:\.await)?(?:\.unwrap\(\)|\.expect\([^)]*\)|\?)?;"
    ),
    # Java: synchronized (orders) {
    late_regex.compile(r"\bsynchronized\s*\(\s*(?P<lock>[^()]+?)\s*\)"),
    # Go, C++, Java: a.mu.Lock(), m.lock()
    late_regex.compile(
        rf"^(?P<lock>{_PATH}?)(?P<joint>\.|->)(?:R?Lock|lock|lock_shared)\(\)\s*;?$"
    ),
)
#: what a line waits for where it is no statement of its own: `s.left.lock().unwrap().push(1)`
_IN_EXPRESSION = late_regex.compile(
    rf"(?P<lock>{_PATH}?)(?P<joint>\.|->)(?:R?Lock|lock|read|write|lock_shared)\(\)"
)
_RELEASES = (
    late_regex.compile(
        r"\b(?:pthread_mutex_unlock|pthread_rwlock_unlock|mtx_unlock|pthread_spin_unlock)"
        r"\s*\(\s*(?P<address>[^()]+?)\s*\)"
    ),
    late_regex.compile(rf"^(?P<lock>{_PATH}?)(?:\.|->)(?:R?Unlock|unlock|unlock_shared)\(\)"),
    late_regex.compile(r"\bdrop\((?P<guard>\w+)\)"),
)


@dataclass(frozen=True, slots=True)
class TakenLock:
    """A lock as a statement names it."""

    #: as the source has it: `from.mu`
    text: str
    #: the expression of its address, or of a pointer to it
    address: str
    line: int
    guard: str = ""


def lock_taken_at(text: str, line: int = 0) -> TakenLock | None:
    """Return the lock that a line of source takes."""
    code = code_of(text)
    for pattern in _TAKES:
        found = pattern.search(code)
        if found is not None:
            return _taken(found.groupdict(), line)
    found = _IN_EXPRESSION.search(code)
    return None if found is None else _taken(found.groupdict(), line)


def held_locks(lines: Sequence[str], block: range, line: int) -> list[TakenLock]:
    """Return the locks that a function (the lines of *block*) holds at *line*."""
    held: dict[str, TakenLock] = {}
    for number in block:
        if number >= line:
            break
        code = code_of(lines[number - 1])
        if not code or code.startswith(("//", "#", "*")):
            continue
        for pattern in _RELEASES:
            released = pattern.search(code)
            if released is not None and not code.startswith("defer"):
                _release(held, released.groupdict())
        taken = next((found for each in _TAKES if (found := each.search(code))), None)
        if taken is not None and not code.startswith("defer") and _leads_to(lines, number, line):
            lock = _taken(taken.groupdict(), number)
            held[lock.guard or lock.text] = lock
    return list(held.values())


def _taken(found: dict[str, str | None], line: int) -> TakenLock:
    address = found.get("address")
    if address is not None:
        return TakenLock(address.lstrip("& "), address, line)
    text = found.get("lock") or ""
    address = text if found.get("joint") == "->" else f"&{text}"
    return TakenLock(text, address, line, found.get("guard") or "")


def _release(held: dict[str, TakenLock], found: dict[str, str | None]) -> None:
    names = {found.get("guard"), found.get("lock"), (found.get("address") or "").lstrip("& ")}
    for key, lock in list(held.items()):
        if key in names or lock.text in names or (lock.guard and lock.guard in names):
            del held[key]


def _leads_to(lines: Sequence[str], start: int, line: int) -> bool:
    """Whether *line* is in the block of *start* or inside of it: no line between is further out."""
    depth = _indent(lines[start - 1])
    return all(
        _indent(lines[number - 1]) >= depth
        for number in range(start + 1, line + 1)
        if lines[number - 1].strip()
    )


def _indent(text: str) -> int:
    text = text.expandtabs(4)
    return len(text) - len(text.lstrip())
