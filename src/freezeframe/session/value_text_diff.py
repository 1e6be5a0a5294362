"""Find what changed inside a value from its old and new text. Pure.

Most languages write a structure as items between brackets: `Cart {total: 3, rows: [1, 2]}`. If both
texts can be parsed in the same way, the parts that differ are reported by their paths
(`cart.total`). Otherwise (a cut text, other keys, other brackets) nothing is reported, and the
whole value is shown as changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.values import Value

_CLOSING = {"{": "}", "[": "]", "(": ")"}
_QUOTES = "\"'`"
_CUT = "…"
#: a nested structure that the debugger did not expand: the text is not cut
_CLOSED = late_regex.compile(r"\[\.\.\.\]|\{\.\.\.\}")
_KEY = late_regex.compile(
    r"(?:\.?(?P<field>[#$\w]+)\s*(?::|=(?!>))|(?P<entry>[^\s{\[(].*?)\s*(?:=>|:|=))\s+"
)
_TIGHT = late_regex.compile(r"(?P<field>[#$A-Za-z_]\w*)=(?=[^\s=>])")
#: a name before a parenthesis: a constructor call
_CALL = late_regex.compile(r"[\w.]*\w")
#: what may precede the brackets: a type, a pointer, a count
_HEAD = late_regex.compile(r"[\w\s.:*&<>#$()\[\]-]*\s?")
#: How deep nested structures are compared.
_MAX_DEPTH = 6


@dataclass(frozen=True, slots=True)
class _Item:
    path: str
    text: str


def diff_value_text(name: str, before: str, now: str, joint: str = ".") -> tuple[Value, ...]:
    """Return the parts that differ, named by their paths; empty if the texts cannot be compared.

    *joint* separates a structure from its field: `cart.total`, `$cart->total`.
    """
    if _is_cut(before) or _is_cut(now):
        return ()
    found = _compare(name, before, now, joint, _MAX_DEPTH)
    return tuple(found) if found else ()


def _is_cut(text: str) -> bool:
    return _CUT in text or "..." in _CLOSED.sub("", text)


def _compare(path: str, before: str, now: str, joint: str, depth: int) -> list[Value] | None:
    """Return what differs between two structures; None if they have no comparable parts."""
    old, new = _items(path, before, joint), _items(path, now, joint)
    if old is None or new is None or old[0] != new[0] or depth == 0:
        return None
    then, current = ({item.path: item.text for item in side[1]} for side in (old, new))
    if (
        len(then) != len(old[1])
        or len(current) != len(new[1])
        or (then and not then.keys() & current)
    ):
        return None
    found: list[Value] = []
    for key, text in current.items():
        was = then.get(key)
        if was is None:
            found.append(Value(key, text, changed=True))
        elif was != text:
            inner = _compare(key, was, text, joint, depth - 1)
            if inner is None and key == path:
                return None  # the items are in other brackets: the whole value has changed
            found += inner or [Value(key, text, changed=True, was=was)]
    found += [
        Value(key, "", changed=True, was=was, gone=True)
        for key, was in then.items()
        if key not in current
    ]
    return found


def _items(path: str, text: str, joint: str) -> tuple[str, list[_Item]] | None:
    """Return the text before the items of a structure, and the items by their paths."""
    opening = _opening(text)
    if opening is None:
        return None
    inner = text[opening + 1 : -1]
    if len(inner) > 1 and text[opening] == "[" and inner[0] == inner[-1] == "|":
        inner = inner[1:-1]  # an OCaml array
    items: list[_Item] = []
    # `Counter({'a': 1})`, `deque([1], maxlen=3)`: the items are in the constructor's argument.
    # `Rc(RefCell(Account {id: 7}))`: so they are in the only one.
    call = text[opening] == "(" and _CALL.fullmatch(text[:opening]) is not None
    pieces = list(_split(inner))
    for index, piece in enumerate(pieces):
        if piece is None:
            return None
        if call and (piece[0] in "{[" or (len(pieces) == 1 and _opening(piece) is not None)):
            items.append(_Item(path, piece))
            continue
        key = _TIGHT.match(piece) or _KEY.match(piece)
        if key is None or _is_open(key["entry"] if "entry" in key.groupdict() else None):
            items.append(_Item(f"{path}[{index}]", piece))
            continue
        field = key["field"]
        named = field is not None and not field[0].isdigit()
        part = (
            f"{path}{joint}{field}" if named else _entry(path, text[opening], key["entry"] or field)
        )
        items.append(_Item(part, piece[key.end() :]))
    # A count in front (`Map(2) `, `[2] `) changes with the items and is ignored.
    head = re.sub(r"\d+", "", text[:opening])
    return f"{head}{text[opening]}", items


def _is_open(key: str | None) -> bool:
    """Whether a key ends within brackets: `Account {id`."""
    return key is not None and any(key.count(each) > key.count(_CLOSING[each]) for each in _CLOSING)


def _entry(path: str, bracket: str, key: str) -> str:
    """Return the path of an entry, with sigils where the name has one (Perl)."""
    if bracket == "{" and path[0] in "$%" and key[0] not in _QUOTES:
        within = path[-1] in "}]"
        return f"${path[1:]}{'' if within or path[0] == '%' else '->'}{{{key}}}"
    return f"{path}[{key}]"


def _opening(text: str) -> int | None:
    """Return the index of the bracket that the last character closes."""
    if not text or text[-1] not in "}])":
        return None
    for index, char in enumerate(text):
        if char in _CLOSING and _end(text, index) == len(text) - 1:
            return index if _HEAD.fullmatch(text[:index]) else None
        if char in _QUOTES:
            return None
    return None


def _end(text: str, start: int) -> int | None:
    """Return where the bracket at *start* closes; None if brackets or quotes do not match."""
    stack: list[str] = []
    index = start
    while index < len(text):
        char = text[index]
        if char in _QUOTES:
            over = _quoted(text, index)
            if over is None:
                return None
            index = over
        elif char in _CLOSING:
            stack.append(_CLOSING[char])
        elif char in "}])":
            if not stack or stack.pop() != char:
                return None
            if not stack:
                return index
        index += 1
    return None


def _quoted(text: str, start: int) -> int | None:
    """Return where the string that begins at *start* ends."""
    index = start + 1
    while index < len(text):
        if text[index] == "\\":
            index += 1
        elif text[index] == text[start]:
            return index
        index += 1
    return None


def _split(inner: str) -> Iterator[str | None]:
    """Yield the items between brackets; None for text that cannot be parsed."""
    pieces = list(_pieces(inner, ";"))
    # Items separated by semicolons may contain commas.
    yield from pieces if len(pieces) > 1 else _pieces(inner, ",")


def _pieces(inner: str, separator: str) -> Iterator[str | None]:
    start = index = 0
    while index < len(inner):
        char = inner[index]
        if char in _QUOTES or char in _CLOSING:
            over = _quoted(inner, index) if char in _QUOTES else _end(inner, index)
            if over is None:
                yield None
                return
            index = over
        elif char == separator:
            yield inner[start:index].strip()
            start = index + 1
        index += 1
    if rest := inner[start:].strip():
        yield rest
