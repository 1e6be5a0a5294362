"""Runs inside LLDB: replaces formatters that show wrong values or crash LLDB."""

from typing import Any

import lldb  # type: ignore[import-not-found]

#: maximum bytes of a character array to read
_LONGEST = 4096
#: elements of arrays that may hold bytes, not text
_BYTES = ("unsigned char", "signed char")
_CHARACTERS = "^(const |volatile )*((un)?signed )?char ?\\\\[[0-9]+\\\\]$"
_STRING = (
    "^std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> ?>(( )?&)?$"
)
#: maximum characters of a string to read, and a length that no string has
_LONGEST_STRING, _NOT_A_LENGTH = 1024, 1 << 40
#: a pointer to a data member; one to a member function ends in a parenthesis
_DATA_MEMBER = "::\\\\*( const)?$"
_OPTIONAL = "^std::optional<.+>(( )?&)?$"
_UNIQUE = "^std::(__[a-z0-9]+::)?unique_ptr<.+>(( )?&)?$"


class UniquePointer:
    """A `std::unique_ptr`, formatted by its address alone.

    LLDB 22.1.8 reads its members and crashes with SIGSEGV if it could not parse the type of one
    (g++ 12, a pointer to a base class, after a `std::map` was shown).
    """

    def __init__(self, value: Any, _: Any) -> None:
        self.value = value
        self.target: Any = None
        self.update()

    def update(self) -> None:
        self.target = None
        value = self.value.GetNonSyntheticValue()
        if value.GetType().IsReferenceType():
            value = value.Dereference()
        kind = value.GetType().GetUnqualifiedType().GetCanonicalType().GetTemplateArgumentType(0)
        address = value.GetLoadAddress()
        if not kind.IsValid() or address == lldb.LLDB_INVALID_ADDRESS:
            return
        if kind.IsArrayType():
            kind = kind.GetArrayElementType()
        pointer = value.CreateValueFromAddress("pointer", address, kind.GetPointerType())
        if pointer.GetValueAsUnsigned() == 0:
            return
        dynamic = pointer.GetDynamicValue(lldb.eDynamicDontRunTarget)
        pointed = dynamic if dynamic.IsValid() else pointer
        target = pointed.Dereference()
        if target.GetError().Success():
            self.target = target.Clone("*")

    def num_children(self) -> int:
        return 0 if self.target is None else 1

    def has_children(self) -> bool:
        return self.target is not None

    def get_child_index(self, name: str) -> int:
        return 0

    def get_child_at_index(self, index: int) -> Any:
        return self.target


class Optional:
    """A `std::optional` of libstdc++, read from memory: the value, then whether there is one.

    LLDB 22.1.8 does not resolve the base class of its payload if the value has a destructor (g++
    12), and takes such an optional for an empty one.
    """

    def __init__(self, value: Any, _: Any) -> None:
        self.value = value
        self.held: Any = None
        self.update()

    def update(self) -> None:
        self.held = _held(self.value)

    def num_children(self) -> int:
        return 0 if self.held is None else 1

    def has_children(self) -> bool:
        return self.held is not None

    def get_child_index(self, name: str) -> int:
        return 0

    def get_child_at_index(self, index: int) -> Any:
        return self.held


def _held(optional: Any) -> Any:
    """Return the value in an optional; None if it is empty."""
    value = optional.GetNonSyntheticValue()
    if value.GetType().IsReferenceType() or value.GetType().IsPointerType():
        value = value.Dereference()
    kind = value.GetType().GetUnqualifiedType().GetCanonicalType().GetTemplateArgumentType(0)
    size, error = max(1, kind.GetByteSize()), lldb.SBError()
    if value.GetData().GetUnsignedInt8(error, size) == 0 or error.Fail():
        return None
    address = value.GetLoadAddress()
    if address == lldb.LLDB_INVALID_ADDRESS:
        return value.CreateValueFromData("Value", value.GetData(), kind)
    return value.CreateValueFromAddress("Value", address, kind)


def optional(value: Any, _: Any) -> str:
    return f"Has Value={'true' if _held(value) is not None else 'false'}"


def unique_pointer(value: Any, _: Any) -> str:
    raw = value.GetNonSyntheticValue()
    if raw.GetType().IsReferenceType():
        raw = raw.Dereference()
    error = lldb.SBError()
    address = raw.GetLoadAddress()
    if address == lldb.LLDB_INVALID_ADDRESS:
        return ""
    pointer = raw.GetProcess().ReadPointerFromMemory(address, error)
    return f"{pointer:#x}" if error.Success() else ""


def data_member(value: Any, _: Any) -> str:
    """Return the name of the member that a pointer to a data member (`int S::*`) names."""
    raw = value.GetNonSyntheticValue()
    owner = (raw.GetType().GetCanonicalType().GetName() or "").rpartition("::*")[0]
    offset = raw.GetValueAsSigned(-1)
    if offset == -1:
        return "nullptr"
    kind = raw.GetTarget().FindFirstType(_class_name(owner))
    return f"&{kind.GetName()}::{_member_at(kind, offset) or f'<offset {offset}>'}"


def _class_name(text: str) -> str:
    """Return the class of `T Class`, whose names may have spaces within angle brackets."""
    depth = 0
    for index in range(len(text) - 1, -1, -1):
        depth += {">": 1, "<": -1}.get(text[index], 0)
        if text[index] == " " and not depth:
            return text[index + 1 :]
    return text


def _member_at(kind: Any, offset: int) -> "str | None":
    """Return the name of the member at an offset, own or inherited."""
    for index in range(kind.GetNumberOfFields()):
        field = kind.GetFieldAtIndex(index)
        if field.GetOffsetInBytes() == offset and field.GetName():
            return str(field.GetName())
    for index in range(kind.GetNumberOfDirectBaseClasses()):
        base = kind.GetDirectBaseClassAtIndex(index)
        if (found := _member_at(base.GetType(), offset - base.GetOffsetInBytes())) is not None:
            return found
    return None


def characters(value: Any, _: Any) -> str:
    """Return the string in a character array up to its terminator; all of an array of bytes."""
    raw = value.GetNonSyntheticValue()
    size, where = raw.GetByteSize(), raw.GetLoadAddress()
    if where == lldb.LLDB_INVALID_ADDRESS:
        error = lldb.SBError()
        data = raw.GetData().ReadRawData(error, 0, min(size, _LONGEST))
    else:
        error = lldb.SBError()
        data = raw.GetProcess().ReadMemory(where, min(size, _LONGEST), error)
    if error.Fail() or data is None:
        return f"<{error.GetCString()}>"
    text, end, rest = data.partition(b"\0")
    if any(rest) and raw.GetType().GetCanonicalType().GetArrayElementType().GetName() in _BYTES:
        text = data
    more = f"...+{size - len(text)} bytes" if not end and size > len(text) else ""
    return f'"{_escaped(text)}"{more}'


def string(value: Any, _: Any) -> str:
    """Return the text of a `std::string`, whose characters may be NUL: LLDB's own ends there."""
    raw = value.GetNonSyntheticValue()
    if raw.GetType().IsReferenceType():
        raw = raw.Dereference()
    length = raw.GetChildMemberWithName("_M_string_length").GetValueAsUnsigned(_NOT_A_LENGTH)
    where = raw.GetChildMemberWithName("_M_dataplus").GetChildMemberWithName("_M_p")
    error, data = lldb.SBError(), b""
    if length and length < _NOT_A_LENGTH:
        size = min(length, _LONGEST_STRING)
        data = raw.GetProcess().ReadMemory(where.GetValueAsUnsigned(0), size, error)
    if length >= _NOT_A_LENGTH or error.Fail() or data is None:
        return "Summary Unavailable"
    return f'"{_escaped(data)}"{"..." * (length > _LONGEST_STRING)}'


def _escaped(data: bytes) -> str:
    text = data.decode("utf-8", "surrogateescape")
    return "".join(map(_shown, text))


_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def _shown(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if character in _ESCAPES:
        return _ESCAPES[character]
    if code == 0:
        return "\\000"  # a digit may follow
    return character if character.isprintable() else f"\\x{code:02x}"


def _element_type(provider: Any) -> Any:
    """Return the element type of a `std::unordered_map`, set or multi-variant of them.

    LLDB 19 and 20 read it from the allocator, whose arguments g++ 12 does not describe, and show a
    map with elements as empty.
    """
    kind = provider.valobj.GetNonSyntheticValue().GetChildMemberWithName("_M_h").GetType()
    return kind.GetCanonicalType().GetTemplateArgumentType(1)


#: LLDB takes the number of children as 32 bits; maximum elements of a list to count
_MOST_CHILDREN, _MOST_COUNTED = 0xFFFF_FFFF, 100_000


def _list_size(provider: Any) -> int:
    """Return the number of elements of a `std::list` or `std::forward_list`.

    LLDB 22.1.8 walks a list twice by values, 39 s for 5,000 elements, and stops counting at the
    24 that it shows.
    """
    size = provider.node.GetChildMemberWithName("_M_size")
    if size.IsValid():
        return int(size.GetValueAsUnsigned(0))
    process, end = provider.valobj.GetProcess(), provider.get_end_of_list_address()
    here, count, error = provider.next.GetValueAsUnsigned(0), 0, lldb.SBError()
    while here not in (0, end) and count < _MOST_COUNTED:
        count += 1
        here = process.ReadPointerFromMemory(here, error)
        if error.Fail():
            break
    return count


def _bounded(count: Any) -> Any:
    """Limit a size: a container that is not constructed yet has sizes that LLDB cannot take."""

    def bounded(provider: Any) -> int:
        return min(max(int(count(provider) or 0), 0), _MOST_CHILDREN)

    return bounded


def _patch_sizes(formatters: Any) -> None:
    lists = getattr(formatters, "AbstractListSynthProvider", None)
    if lists is not None:
        lists.num_children_impl = _list_size
    for provider in vars(formatters).values():
        if isinstance(provider, type) and "num_children" in vars(provider):
            provider.num_children = _bounded(provider.num_children)  # type: ignore[attr-defined]


def _patch_formatters() -> None:
    try:
        from lldb.formatters.cpp import (  # type: ignore[import-not-found]
            gnu_libstdcpp as formatters,
        )
    except ImportError:
        return
    _patch_sizes(formatters)
    provider = getattr(formatters, "StdUnorderedMapSynthProvider", None)
    if provider is not None:
        provider.extract_type = _element_type


def __lldb_init_module(debugger: Any, _: Any) -> None:
    _patch_formatters()
    debugger.HandleCommand(
        f'type summary add -w default -x "{_CHARACTERS}" -F {__name__}.characters'
    )
    # Small numbers (`uint8_t`), which LLDB shows as characters.
    debugger.HandleCommand('type format add -w default -p -f u "unsigned char"')
    debugger.HandleCommand('type format add -w default -p -f d "signed char"')
    debugger.HandleCommand(
        f'type summary add -w default -v -x "{_DATA_MEMBER}" -F {__name__}.data_member'
    )
    debugger.HandleCommand(f'type summary add -w default -x "{_STRING}" -F {__name__}.string')
    for kind, name in ((_OPTIONAL, "Optional"), (_UNIQUE, "UniquePointer")):
        debugger.HandleCommand(f'type synthetic add -w default -x "{kind}" -l {__name__}.{name}')
    for kind, name in ((_OPTIONAL, "optional"), (_UNIQUE, "unique_pointer")):
        debugger.HandleCommand(f'type summary add -w default -e -x "{kind}" -F {__name__}.{name}')
