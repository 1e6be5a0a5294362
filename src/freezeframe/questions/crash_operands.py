"""What a statement crashed on: the expression of the bad value, and its operands. Pure.

For languages that are read as text; Python has `failing_expressions`.
"""

from __future__ import annotations

from collections.abc import Mapping

from freezeframe.model import late_regex
from freezeframe.model.values import Value

_NAME = r"[A-Za-z_$][\w$]*(?:(?:\.|->|::)[A-Za-z_$][\w$]*)*"
_ELEMENT = late_regex.compile(rf"(?P<owner>{_NAME})\[(?P<index>{_NAME}|\d+)\]")
#: a call that takes an index or a key: `m.at(k)`, `list.get(i)`
_CALL = late_regex.compile(
    rf"(?P<owner>{_NAME})(?:\.|->)(?:at|get|elementAt|nth)\((?P<index>{_NAME}|\d+)\)"
)
_DIVISOR = late_regex.compile(rf"[/%]=?\s*(?P<name>{_NAME})")
_BAD = late_regex.compile(rf"^(?P<name>{_NAME}(?:\[\w+\])?) (?:is NULL|is 0|= 0x[0-9a-f]+ )")
#: JavaScript: `Cannot read properties of undefined (reading 'name')`
_READING = late_regex.compile(r"\((?:reading|setting) '(?P<name>[\w$]+)'\)")
#: Java: `because "<local1>" is null`, `because "order.items" is null`
_BECAUSE = late_regex.compile(r'because "(?P<name>[\w.$]+)" is null')
_INDEX = late_regex.compile(r"(?i)out of (?:range|bounds)|outofbounds|index")
_DIVISION = late_regex.compile(r"(?i)divi(?:de|sion)|by zero|SIGFPE")


def faulting_expression(statement: str, message: str, notes: tuple[str, ...]) -> str | None:
    """Return the expression whose value a statement crashed on; None if it is not evident."""
    for note in notes:
        bad = _BAD.match(note)
        if bad is not None:
            return bad["name"]
    because = _BECAUSE.search(message)
    if because is not None:
        return because["name"]
    reading = _READING.search(message)
    if reading is not None:
        owner = late_regex.compile(rf"({_NAME})\??\.{reading['name']}\b").search(statement)
        return owner[1] if owner is not None else None
    if _INDEX.search(message):
        found = _ELEMENT.search(statement) or _CALL.search(statement)
        if found is not None and not found["index"].isdecimal():
            return found["index"]
    if _DIVISION.search(message):
        found = _DIVISOR.search(statement)
        return found["name"] if found is not None else None
    return None


def operands(statement: str, values: Mapping[str, Value], message: str) -> tuple[str, ...]:
    """Return the index and the length, or the divisor, of what a statement failed at."""
    found = []
    if _INDEX.search(message) or "KeyError" in message:
        for element in (*_ELEMENT.finditer(statement), *_CALL.finditer(statement)):
            index, owner = values.get(element["index"]), values.get(element["owner"])
            if index is not None:
                found.append(f"{element['index']} = {index.text}")
            size = _length(owner) if owner is not None else None
            if size is not None:
                found.append(f"{element['owner']} has {size} item{'' if size == 1 else 's'}")
    elif _DIVISION.search(message):
        for divisor in _DIVISOR.finditer(statement):
            value = values.get(divisor["name"])
            if value is not None:
                found.append(f"{divisor['name']} = {value.text}")
    return tuple(dict.fromkeys(found))


def _length(value: Value) -> int | None:
    if value.count is not None:
        return value.count
    if value.children:
        return len(value.children)
    return None
