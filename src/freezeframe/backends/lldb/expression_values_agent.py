"""Runs inside LLDB: operands of the expressions that `expressions_agent` evaluates.

Members, elements and entries of a value and of what it points to, its length, and the number or
text that operators are applied to.
"""

import json
import re
from typing import Any

import lldb  # type: ignore[import-not-found]

_SIZE = re.compile(r"(?:0x[0-9a-f]+ )?size=(\d+)")
MAP = re.compile(r"(?:Hash|BTree)Map<|^std::(?:__\w+::)*(?:unordered_)?map<")
_FLOATS = (lldb.eBasicTypeFloat, lldb.eBasicTypeDouble)
#: maximum pointers to follow for a field, and entries to search for a key
_DEEPEST, MOST = 8, 20_000


class NotEvaluated(ValueError):
    """The expression has no value here; the message says why."""


class UnknownName(NotEvaluated):
    """There is no variable of a name: to LLDB it may be a type, a function or a register."""


class NotSupported(ValueError):
    """The expression is not one of those that are evaluated here."""


class Variant(str):
    """The name of an enum's variant."""


def text_of(value: Any) -> str:
    return str(value.GetSummary() or value.GetValue() or "")


def child_of(value: Any, name: str) -> Any:
    """Return a child by its name, or None. Some formatters return one for any name."""
    found = value.GetChildMemberWithName(name)
    is_it = found.IsValid() and found.GetError().Success() and found.GetName() == name
    return found if is_it else None


def behind(value: Any) -> Any:
    """Return the target of a pointer, or the value in an Rc, a Box, a cell or a lock; else None."""
    if value.GetType().IsPointerType() or value.GetType().IsReferenceType():
        return value.Dereference()
    pointer = child_of(value, "pointer")
    if pointer is not None and "_ptr<" in (value.GetTypeName() or ""):
        return pointer.Dereference()
    if value.GetNumChildren(2) == 1 and value.GetChildAtIndex(0).GetName() in ("value", "*"):
        return value.GetChildAtIndex(0)
    return child_of(value.GetNonSyntheticValue(), "lock")


def is_pointer(value: Any) -> bool:
    return isinstance(value, lldb.SBValue) and bool(value.GetType().IsPointerType())


def levels(value: Any) -> Any:
    """Generate a value, and what is behind it."""
    for _ in range(_DEEPEST):
        if value is None or not value.IsValid():
            return
        yield value
        value = behind(value)


def member(value: Any, name: str) -> Any:
    for each in levels(value):
        for shape in (each, each.GetNonSyntheticValue()):
            for field in (name, f"__{name}") if name.isdigit() else (name,):
                found = child_of(shape, field)
                if found is not None:
                    return found
    raise NotEvaluated(f"there is no field {name} in {kind_of(value)}")


def kind_of(value: Any) -> str:
    return str(value.GetDisplayTypeName() or value.GetTypeName() or "the value")


def length_of(value: Any) -> int:
    for each in levels(value):
        size = _SIZE.fullmatch(text_of(each))
        if size is not None:
            return int(size[1])
        raw = each.GetNonSyntheticValue()
        for path in (("vec", "len"), ("length",), ("len",)):
            found = raw
            for name in path:
                found = child_of(found, name) if found is not None else None
                found = found.GetNonSyntheticValue() if found is not None else None
            if found is not None:
                return int(found.GetValueAsUnsigned())
        if each.GetType().IsArrayType():
            return int(each.GetNumChildren())
    raise NotEvaluated(f"{kind_of(value)} has no length")


def element(value: Any, index: Any) -> Any:
    for each in levels(value):
        if MAP.search(each.GetTypeName() or ""):
            return entry(each, index)
        is_container = _SIZE.fullmatch(text_of(each)) or each.GetType().IsArrayType()
        if is_container and isinstance(index, int):
            length = length_of(each)
            if not 0 <= index < length:
                raise NotEvaluated(f"index {index} is out of range: the length is {length}")
            return each.GetChildAtIndex(index)
    if is_pointer(value) and isinstance(index, int):  # a raw pointer to the first of several
        return value.GetChildAtIndex(index, lldb.eNoDynamicValues, True)
    raise NotEvaluated(f"{kind_of(value)} has no elements")


def entry(value: Any, key: Any) -> Any:
    name = f"key {json.dumps(key, ensure_ascii=False) if isinstance(key, str) else key}"
    for index in range(min(value.GetNumChildren(), MOST)):
        child = value.GetChildAtIndex(index)
        if child.GetName() == name:
            return child
        first, second = child_of(child, "first"), child_of(child, "second")
        if first is not None and second is not None and scalar(first) == key:
            return second
    raise NotEvaluated(f"there is no entry {name.removeprefix('key ')}")


def variant_of(value: Any) -> str:
    found = re.match(r"\w+", text_of(value).rpartition("::")[2] or "")
    return found[0] if found is not None else ""


def scalar(value: Any) -> Any:
    """Return a number, a truth value, a text or the name of a variant."""
    if not isinstance(value, lldb.SBValue):
        return value
    for each in levels(value):
        text, kind = text_of(each), each.GetType().GetCanonicalType()
        if text.startswith('"'):
            try:
                return json.loads(text)
            except ValueError:
                return text[1:-1]
        basic = kind.GetBasicType()
        if basic in _FLOATS:
            return float(each.GetValue())
        if basic == lldb.eBasicTypeBool:
            return each.GetValueAsUnsigned() != 0
        if basic in (lldb.eBasicTypeChar32, lldb.eBasicTypeChar16):
            return chr(each.GetValueAsUnsigned())
        if basic != lldb.eBasicTypeInvalid and not kind.IsPointerType():
            return int(each.GetValue())
        if not kind.IsPointerType() and variant_of(each) and not _SIZE.fullmatch(text):
            return Variant(variant_of(each))
    raise NotEvaluated(f"{kind_of(value)} cannot be compared or calculated with here")


def check_alike(left: Any, right: Any, targets: tuple[Any, Any]) -> None:
    """Refuse to compare pointers to equal targets: LLDB does not tell references, whose targets
    Rust compares, from raw pointers."""
    is_text = isinstance(targets[0], str)
    if not is_text and left.GetValue() != right.GetValue() and targets[0] == targets[1]:
        raise NotEvaluated(
            "to LLDB references and raw pointers are alike: write * to compare targets"
        )


def class_of(value: Any) -> type:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float
    return type(value)
