"""Values of Go's standard packages as their documentation describes them, not as their fields."""

from __future__ import annotations

import re

#: A part that delve has not loaded, shown as a pointer.
_UNLOADED = re.compile(r"\*?\(\*+(?:[^()\s]|(?<=interface) |(?<=struct) )+\)\(0x[0-9a-f]+\)")
#: Fields without data: they keep a struct from being copied, or align it.
_EMPTY_FIELD = re.compile(r"(?<=[{ ])(?:_|noCopy): (?:sync|atomic)\.(?:noCopy|align64) \{\}(?:, )?")
_ATOMIC = re.compile(r"\batomic\.(?P<kind>U?[Ii]nt(?:32|64)|Bool|Uintptr) \{v: (?P<value>-?\d+)\}")
_MUTEX = re.compile(r"\bsync\.Mutex \{(?:mu: sync\.Mutex \{)?state: (?P<state>\d+), sema: \d+\}\}?")
_UNREAD_MUTEX = re.compile(r"\bsync\.Mutex \{mu: …\}")
_GROUP = re.compile(r"\bsync\.WaitGroup \{state: atomic\.Uint64 (?P<state>\d+), sema: \d+\}")
_TIME = re.compile(r"\btime\.Time\((?P<shown>[^(),]*)(?:, [+-]\d+)?\)(?=\{)")
_WALL = re.compile(r"\{wall: (\d+)\b")
#: The bits of a time's `wall` that are nanoseconds.
_NANOSECONDS = (1 << 30) - 1


def readable(text: str) -> str:
    """Return a value's text, which contains no string, with its standard types in readable form."""
    text = _without_fields(text)
    if _UNLOADED.fullmatch(text) is None:
        text = _UNLOADED.sub("…", text)
    text = _EMPTY_FIELD.sub("", text)
    text = _ATOMIC.sub(_atomic, text)
    text = _UNREAD_MUTEX.sub("sync.Mutex …", _MUTEX.sub(_mutex, text))
    return _GROUP.sub(_group, text)


def _atomic(found: re.Match[str]) -> str:
    value = found["value"]
    if found["kind"] == "Bool":
        value = "true" if value == "1" else "false"
    return f"atomic.{found['kind']} {value}"


def _mutex(found: re.Match[str]) -> str:
    state = int(found["state"])
    waiting = state >> 3
    return (
        "sync.Mutex "
        + ("locked" if state & 1 else "unlocked")
        + (f", {waiting} waiting" if waiting else "")
    )


def _group(found: re.Match[str]) -> str:
    state = int(found["state"])
    # The bit between them belongs to `testing/synctest`.
    counter, waiting = state >> 32, state & 0x7FFFFFFF
    return f"sync.WaitGroup {counter} to be done" + (f", {waiting} waiting" if waiting else "")


def _without_fields(text: str) -> str:
    """Return the text with times as delve formats them, without their fields."""
    parts, at = [], 0
    for found in _TIME.finditer(text):
        if found.start() < at:
            continue
        end = _end(text, found.end())
        wall = _WALL.match(text, found.end())
        shown = found["shown"]
        fraction = f"{int(wall[1]) & _NANOSECONDS:09}".rstrip("0") if wall else ""
        if fraction:
            shown = re.sub(r"(?<=T\d\d:\d\d:\d\d)", f".{fraction}", shown)
        parts += [text[at : found.start()], f"time.Time {shown}"]
        at = end
    return "".join([*parts, text[at:]])


def _end(text: str, at: int) -> int:
    """Return the end of the braces that open at an offset; the end of a text that was cut in
    them."""
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index + 1
    return len(text)


_UNITS = ((3_600_000_000_000, "h"), (60_000_000_000, "m"))


def duration(nanoseconds: int) -> str:
    """Return a duration as Go prints it: `1h2m3.5s`, `1.5ms`."""
    sign, remaining = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    if remaining < 1_000_000_000:
        for size, unit in ((1_000_000, "ms"), (1_000, "µs"), (1, "ns")):
            if remaining >= size:
                return f"{sign}{_decimal(remaining, size)}{unit}"
        return "0s"
    text = ""
    for size, unit in _UNITS:
        if remaining >= size or text:
            text += f"{remaining // size}{unit}"
            remaining %= size
    return f"{sign}{text}{_decimal(remaining, 1_000_000_000)}s"


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    digits = len(str(size)) - 1
    fraction = f"{rest:0{digits}}".rstrip("0") if digits else ""
    return f"{whole}.{fraction}" if fraction else str(whole)


def is_cut_error(text: str) -> bool:
    """Return whether the text of an error hides the error that it wraps."""
    return (
        text.startswith(("error(", "[]error"))
        and re.search(r"(?<!\w)\.\.\.(?!\+)|…", text) is not None
    )
