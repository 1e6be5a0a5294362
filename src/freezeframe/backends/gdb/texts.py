"""Values as gdb prints them, cut down to what a reader wants. Pure.

gdb's printers say what a value is before they say what it holds: `std::set with 2 elements =
{[0] = 5, [1] = 6}`. Its kind is the type's matter; its text is `{5, 6}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

#: what is copied as it is: strings, characters, and names of the compiler's with braces in them
_ATOM = re.compile(
    r'"(?:\\.|[^"\\])*"|\'(?:\\[^\']+|[^\'\\])\''
    r"|\{(?:closure|async|impl|extern|shim|vtable|coroutine|misc)[\w#]*\}",
    re.DOTALL,
)
#: what stands before the types of a generic one, and what is never among them
_OPENS_TYPES, _NO_TYPE = re.compile(r"[\w:]"), re.compile(r'["=]|\{(?![\w#]+\})')
#: characters of the name of a type that are looked through for its end
_LONGEST_TYPE = 4000
#: what opens and closes the types of a generic one, but the arrow of a function's type
_ANGLE = re.compile(r"<|(?<!-)>")
#: between two items; a vector's capacity is no item
_COMMA = re.compile(r", (?!capacity \d)")


@dataclass(slots=True)
class _Group:
    """What stands in braces: items, each a run of text and groups."""

    items: list[_Item] = field(default_factory=list)


_Item = list["str | _Group"]


def tidy(text: str, *, rust: bool = False) -> str:
    """Return gdb's text of a value without what only a type says."""
    if text.startswith('"') or text.isalnum():
        return text
    item = _read(text)
    try:
        return text if item is None else _write(item, rust)
    except RecursionError:
        return text  # braces in braces in braces


def _read(text: str) -> _Item | None:
    """Return the text as a tree; None where its braces do not match."""
    top: _Item = []
    open_items: list[_Item] = [top]
    groups: list[_Group] = []
    run: list[str] = []
    position = depth = 0
    ends = _ends_of_brackets(text)

    def flush() -> None:
        if run:
            open_items[-1].append("".join(run))
        run.clear()

    while position < len(text):
        atom = _ATOM.match(text, position)
        if atom is not None:
            run.append(atom[0])
            position = atom.end()
            continue
        character = text[position]
        if character == "<" and position and _OPENS_TYPES.fullmatch(text[position - 1]):
            end = ends.get(position)
            if end is not None and not _NO_TYPE.search(text, position, end):
                # The commas between types of a generic one separate no items.
                run.append(text[position:end])
                position = end
                continue
        if character == "{":
            flush()
            group = _Group([[]])
            open_items[-1].append(group)
            groups.append(group)
            open_items.append(group.items[0])
        elif character == "}":
            flush()
            if not groups:
                return None
            groups.pop()
            open_items.pop()
        elif groups and depth == 0 and _COMMA.match(text, position):
            flush()
            groups[-1].items.append([])
            open_items[-1] = groups[-1].items[-1]
            position += 1
        else:
            depth += {"(": 1, ")": -1}.get(character, 0)
            run.append(character)
        position += 1
    flush()
    return None if groups else top


def _write(item: _Item, rust: bool) -> str:
    out = ""
    for piece in item:
        if isinstance(piece, str):
            out += _plain(piece, rust)
        else:
            out = _join(out, [_write(each, rust) for each in _kept(piece.items)], rust)
    return out


def _kept(items: list[_Item]) -> list[_Item]:
    """Put the members of base classes among their own; leave out what the compiler added."""
    kept: list[_Item] = []
    for item in items:
        head = item[0] if item and isinstance(item[0], str) else ""
        if head == "<No data fields>" or head.startswith("_vptr"):
            continue
        if re.fullmatch(r'<[^"]+> = ', head) and len(item) == 2 and isinstance(item[1], _Group):
            kept += _kept(item[1].items)
        elif item:
            kept.append(item)
    return kept


# --- what stands before braces ------------------------------------------------------------------

_NAMED = re.compile(r"\[\d+\] = ")
_SEQUENCES = r"(?:vector(?:<bool>)?|deque|list|forward_list|array|span|valarray)"
_SETS = r"(?:(?:unordered_)?(?:multi)?set|tuple)"
_MAPS = r"(?:unordered_)?(?:multi)?map"
_SIZE = r"(?: of length \d+(?:, capacity \d+)?| with \d+ elements?| containing)?"
_WRAPPING = r"(?:std::\w+ wrapping: )?"


def _braces(head: str, items: list[str]) -> str:
    return head + "{" + ", ".join(items) + "}"


def _unnumbered(head: str, items: list[str]) -> str:
    return _braces(head, [_NAMED.sub("", each, count=1) for each in items])


def _inside(name: str) -> Callable[[str, list[str]], str]:
    """What it holds in parentheses, behind a short name."""

    def written(head: str, items: list[str]) -> str:
        held = [re.sub(r"^\[contained value\] = |^value = ", "", items[0])] if items else []
        lent = [each for each in items[1:] if re.fullmatch(r"borrow = -?[1-9]\d*", each)]
        return f"{head}{name}({', '.join(held + lent)})"

    return written


def _pointer(head: str, items: list[str]) -> str:
    return head + items[0].removeprefix("get() = ") if items else _braces(head, items)


def _square(head: str, items: list[str]) -> str:
    return head + "[" + ", ".join(items) + "]"


def _pairs(head: str, items: list[str]) -> str:
    return _braces(head, [re.sub(r"^\[(.*?)\] = ", r"\1: ", each, count=1) for each in items])


_STD = r"std::(?:__\w+::)*"
_HEADS: tuple[tuple[re.Pattern[str], Callable[[str, list[str]], str]], ...] = tuple(
    (re.compile(pattern + " = $", re.DOTALL), write)
    for pattern, write in (
        (rf"{_WRAPPING}{_STD}{_SEQUENCES}{_SIZE}", _unnumbered),
        (rf"{_WRAPPING}{_STD}{_SETS}{_SIZE}", _unnumbered),
        (rf"{_STD}{_MAPS}{_SIZE}", _braces),
        (rf"{_STD}(?:unique|shared|weak)_ptr<.*>(?: \([^()]*\))?", _pointer),
        (rf"{_STD}(?:experimental::)?optional<.*>", _inside("optional")),
        (rf"{_STD}any containing .*", _inside("any")),
        (rf"{_STD}atomic<.*>", lambda head, items: head + ", ".join(items).strip()),
        (rf"{_STD}variant<.*> \[index \d+\]", _inside("variant")),
    )
)
_RUST_HEADS: tuple[tuple[re.Pattern[str], Callable[[str, list[str]], str]], ...] = tuple(
    (re.compile(pattern + r"\((?:size|strong|borrow)[^()]*\) = $", re.DOTALL), write)
    for pattern, write in (
        (r"(?:Vec|VecDeque|HashSet|BTreeSet|&(?:mut )?\[.*\])", _square),
        (r"(?:HashMap|BTreeMap)", _pairs),
        (r"Rc", _inside("Rc")),
        (r"Arc", _inside("Arc")),
        (r"RefCell", _inside("RefCell")),
        (r"Ref(?:Mut)?", _inside("Ref")),
    )
)


def _join(out: str, items: list[str], rust: bool) -> str:
    """Return the text so far with a group behind it."""
    for pattern, write in _RUST_HEADS if rust else _HEADS:
        match = pattern.search(out)
        if match is not None:
            return write(out[: match.start()], items)
    lock = _LOCK.search(out) if rust else None
    if lock is not None and items and items[-1].startswith("data: "):
        return f"{out[: lock.start()]}{lock[1]}({items[-1].removeprefix('data: ')})"
    if len(items) == 1:
        # An array, an atomic, a cell: its only member is what it is.
        for around, only in _AROUND:
            match = around.search(out)
            if match is not None and items[0].startswith(only):
                return out[: match.start()] + items[0].removeprefix(only)
    return _braces(out, items)


_LOCK = re.compile(r"\b(Mutex|RwLock) $")
_AROUND = (
    (re.compile("$"), "_M_elems = "),
    (re.compile("$"), "_M_i = "),
    (re.compile(r"\b(?:UnsafeCell|Cell|ManuallyDrop|MaybeUninit) $"), "value: "),
    (re.compile(r"\bAtomic\w+ $"), "v: "),
)


# --- what stands between them -------------------------------------------------------------------

_NOTHING = (
    (re.compile(rf"{_STD}(?:experimental::)?optional<.*> \[no contained value\]"), "nullopt"),
    (re.compile(rf"{_STD}any \[no contained value\]"), "any()"),
    (re.compile(rf"{_STD}variant<.*> \[no contained value\]"), "variant()"),
    (re.compile(rf"{_WRAPPING}{_STD}{_SEQUENCES} of length 0(?:, capacity \d+)?$"), "{}"),
    (re.compile(rf"{_WRAPPING}{_STD}(?:{_SEQUENCES}|{_SETS}|{_MAPS}) with 0 elements$"), "{}"),
    (re.compile(r"empty (?:std::(?:__\w+::)*\w+)$"), "{}"),
)
_RUST_NOTHING = (
    (re.compile(r"(?:Vec|VecDeque|HashSet|BTreeSet|&(?:mut )?\[[^\]]*\])\(size=0\)"), "[]"),
    (re.compile(r"(?:HashMap|BTreeMap)\(size=0\)"), "{}"),
)
_CHARACTER = re.compile(r"\b(\d+) '(?:\\[^']+|[^'\\])'")
_WORD = re.compile(r"[A-Za-z_]\w*|\{[\w#]+\}")


#: a reference, and the type that an object behind a pointer or a reference really has
_REFERENCE = re.compile(r"(?:\([^()]*(?:\([^()]*\)[^()]*)* &&?\) )?@0x[0-9a-f]+: ")
_REALLY = re.compile(r"(^|= )\([^()]*(?:\([^()]*\)[^()]*)* \*(?: const)?\) (?=0x[0-9a-f]+)")


def _plain(text: str, rust: bool) -> str:
    text = _REALLY.sub(r"\1", _REFERENCE.sub("", text))
    for pattern, short in _RUST_NOTHING if rust else _NOTHING:
        text = pattern.sub(short, text)
    if not rust:
        return text
    return _short_paths(_CHARACTER.sub(_character, text))


def _character(match: re.Match[str]) -> str:
    code = int(match[1])
    shown = chr(code) if code < 0x110000 else ""
    return f"'{shown}'" if shown.isprintable() and shown else match[0]


def _short_paths(text: str) -> str:
    """Return Rust's `core::option::Option<i32>::Some(8)` as `Some(8)`."""
    out, position = "", 0
    while position < len(text):
        atom = _ATOM.match(text, position)
        if atom is not None and not atom[0].startswith("{"):
            out += atom[0]
            position = atom.end()
            continue
        word = _WORD.match(text, position)
        if word is None:
            out += text[position]
            position += 1
            continue
        last, position = _last_of_path(text, word)
        out += last
    return out


def _last_of_path(text: str, word: re.Match[str]) -> tuple[str, int]:
    """Return the last name of the path that begins at *word*, and where the path ends."""
    last, position = word[0], word.end()
    while True:
        if text.startswith("<", position):
            position += _ends_of_brackets(text[position : position + _LONGEST_TYPE]).get(0, 0)
        if not text.startswith("::", position):
            break
        following = _WORD.match(text, position + 2)
        if following is None:
            break
        last, position = following[0], following.end()
    return re.sub(r"^\{(\w+?)(?:_env)?#\d+\}$", r"\1", last), position


def _ends_of_brackets(text: str) -> dict[int, int]:
    """Return the place behind the bracket that closes each `<`, read once from the front."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for found in _ANGLE.finditer(text):
        if found[0] == "<":
            opened.append(found.start())
        elif opened:
            ends[opened.pop()] = found.end()
    return ends
