"""Shorten values as gdb prints them. Pure.

gdb's printers prefix the contents with the kind: `std::set with 2 elements = {[0] = 5, [1] = 6}`.
The type already says the kind; the text is `{5, 6}`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

#: copied verbatim: strings, characters, and compiler-generated names with braces
_ATOM = re.compile(
    r'"(?:\\.|[^"\\])*"|\'(?:\\[^\']+|[^\'\\])\''
    r"|\{(?:closure|async|impl|extern|shim|vtable|coroutine|misc)[\w#]*\}",
    re.DOTALL,
)
#: what precedes template arguments, and what never occurs in them
_OPENS_TYPES, _NO_TYPE = re.compile(r"[\w:]"), re.compile(r'["=]|\{(?![\w#]+\})')
#: maximum characters to search for the end of a type name
_LONGEST_TYPE = 4000
#: brackets of template arguments, but not the arrow of a function type
_ANGLE = re.compile(r"<|(?<!-)>")
#: separates two items; a vector's capacity is not an item
_COMMA = re.compile(r", (?!capacity \d)")


@dataclass(slots=True)
class _Group:
    """The contents of braces: items, each a sequence of text and groups."""

    items: list[_Item] = field(default_factory=list)


_Item = list["str | _Group"]


def tidy(text: str, *, rust: bool = False) -> str:
    """Return gdb's text of a value without what the type already says."""
    if text.startswith('"') or text.isalnum():
        return text
    item = _read(text)
    try:
        return text if item is None else _write(item, rust)
    except RecursionError:
        return text  # nested too deeply


def _read(text: str) -> _Item | None:
    """Return the text as a tree; None if its braces do not match."""
    top: _Item = []
    open_items: list[_Item] = [top]
    groups: list[_Group] = []
    run: list[str] = []
    position = depth = 0
    depths: list[int] = []
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
                # Commas between template arguments do not separate items.
                run.append(text[position:end])
                position = end
                continue
        if character == "{":
            flush()
            group = _Group([[]])
            open_items[-1].append(group)
            groups.append(group)
            open_items.append(group.items[0])
            depths.append(depth)
            depth = 0
        elif character == "}":
            flush()
            if not groups:
                return None
            groups.pop()
            open_items.pop()
            depth = depths.pop()
        elif groups and depth == 0 and _COMMA.match(text, position):
            flush()
            groups[-1].items.append([])
            open_items[-1] = groups[-1].items[-1]
            position += 1
        else:
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
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
    """Merge members of base classes into the object; omit compiler-generated ones."""
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


# --- text before braces -------------------------------------------------------------------------

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


#: what is shown beside the value in a cell or lock
_HELD = re.compile(r"borrow = -?[1-9]\d*|poisoned = true")


def _inside(name: str) -> Callable[[str, list[str]], str]:
    """Write the contents in parentheses after a short name."""

    def written(head: str, items: list[str]) -> str:
        held = [re.sub(r"^\[contained value\] = |^value = ", "", items[0])] if items else []
        more = [each for each in items[1:] if _HELD.fullmatch(each)]
        return f"{head}{name}({', '.join(held + more)})"

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
#: what has the printer of its only value write for it
_CONTAINING = re.compile(
    rf"{_STD}(?:experimental::)?(optional|variant)<.*>(?: \[index \d+\])? containing (?=.* = $)",
    re.DOTALL,
)
_COUNTS = r"\((?:size|strong|borrow)[^()]*\)"
_HOLDERS = ("Cell", "OnceCell", "Mutex", "RwLock", "MutexGuard", "RwLockReadGuard")
_RUST_HEADS: tuple[tuple[re.Pattern[str], Callable[[str, list[str]], str]], ...] = tuple(
    (re.compile(pattern + " = $", re.DOTALL), write)
    for pattern, write in (
        (rf"(?:Vec|VecDeque|HashSet|BTreeSet|&(?:mut )?\[.*\]){_COUNTS}", _square),
        (rf"(?:HashMap|BTreeMap){_COUNTS}", _pairs),
        (rf"\bRc{_COUNTS}", _inside("Rc")),
        (rf"\bArc{_COUNTS}", _inside("Arc")),
        (rf"\bRefCell{_COUNTS}", _inside("RefCell")),
        (rf"\bRef(?:Mut)?{_COUNTS}", _inside("Ref")),
        *((rf"\b{each}", _inside(each)) for each in (*_HOLDERS, "RwLockWriteGuard")),
    )
)


def _join(out: str, items: list[str], rust: bool) -> str:
    """Return the text so far with a group appended."""
    held = None if rust else _CONTAINING.search(out)
    if held is not None:
        inner = _join(out[held.end() :], items, rust)
        return f"{out[: held.start()]}{held[1]}({inner})"
    for pattern, write in _RUST_HEADS if rust else _HEADS:
        match = pattern.search(out)
        if match is not None:
            return write(out[: match.start()], items)
    if len(items) == 1:
        # An array, an atomic, a cell: its only member is the value.
        for around, only in _AROUND:
            match = around.search(out)
            if match is not None and items[0].startswith(only):
                return out[: match.start()] + items[0].removeprefix(only)
    return _braces(out, items)


_AROUND = (
    (re.compile("$"), "_M_elems = "),
    (re.compile("$"), "_M_i = "),
    (re.compile(r"\b(?:UnsafeCell|Cell|ManuallyDrop|MaybeUninit) $"), "value: "),
)


# --- text between braces ------------------------------------------------------------------------

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


#: a reference, and the dynamic type of the target of a pointer or reference
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
        if text.startswith(" (", position):
            position += 1  # a tuple struct: `Wrap (3)` is written `Wrap(3)` in Rust
    return out


def _last_of_path(text: str, word: re.Match[str]) -> tuple[str, int]:
    """Return the last name of the path that begins at *word*, and the end of the path."""
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
    """Return the index after the bracket that closes each `<`, in one pass."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for found in _ANGLE.finditer(text):
        if found[0] == "<":
            opened.append(found.start())
        elif opened:
            ends[opened.pop()] = found.end()
    return ends
