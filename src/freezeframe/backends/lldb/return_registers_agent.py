"""Runs inside LLDB: the value that a function has just returned, on x86-64.

LLDB ignores base classes, arrays, bit-fields and Rust's calling convention, takes small classes
with a destructor for ones in registers, and has no references or 128-bit integers.
"""

from __future__ import annotations

from typing import Any

import lldb  # type: ignore[import-not-found]
import return_layout_agent as layouts  # type: ignore[import-not-found]

_FLOATS = (lldb.eBasicTypeFloat, lldb.eBasicTypeDouble, lldb.eBasicTypeHalf)
_WIDE = (lldb.eBasicTypeLongDouble,)
_INTEGERS = lldb.eTypeClassPointer | lldb.eTypeClassEnumeration | lldb.eTypeClassMemberPointer
#: maximum size of a stack, and depth of members to look into
_STACK, _DEEPEST = 1 << 23, 12
_CLASSES = lldb.eTypeClassStruct | lldb.eTypeClassClass | lldb.eTypeClassUnion

#: memory for the bytes of a value, by process
_ROOM = 64
_scratch: dict[int, int] = {}


def returned(frame: Any, kind: Any, rust: bool) -> Any:
    """Return the value; None if LLDB reads it rightly. Raises ValueError if nobody knows it."""
    bare = kind.GetCanonicalType()
    size = bare.GetByteSize()
    target = frame.GetThread().GetProcess().GetTarget()
    if bare.IsReferenceType() and not rust:
        return _at(target, _unsigned(frame, "rax"), bare.GetDereferencedType())
    scalar = not bare.GetTypeClass() & (_CLASSES | lldb.eTypeClassArray)
    if rust and bare.GetTypeClass() & lldb.eTypeClassEnumeration:
        scalar = False  # LLDB reports none
    if not size or (scalar and size <= _word(target)):
        return None
    if not rust and size <= 2 * _word(target) and _is_by_address(frame, bare):
        return _at(target, _unsigned(frame, "rax"), kind)
    parts = layouts.pieces(_layout(bare, rust), rust)
    if parts is None:
        return _at(target, _unsigned(frame, "rax"), kind) if rust else None
    names = layouts.registers(parts)
    contents = [_bytes(frame, name)[: part[1]] for name, part in zip(names, parts, strict=True)]
    whole = bytearray(size)
    for (offset, length, _), content in zip(parts, contents, strict=True):
        whole[offset : offset + length] = content
    if _is_own(frame, bytes(whole)):
        return None
    return _at(target, _written(target.GetProcess(), bytes(whole)), kind)


def _is_own(frame: Any, content: bytes) -> bool:
    """Whether LLDB reports the same bytes as the returned value."""
    own = frame.GetThread().GetStopReturnValue().GetNonSyntheticValue()
    data = own.GetData()
    if not own.IsValid() or data.GetByteSize() < len(content):
        return False
    return bytes(data.ReadRawData(lldb.SBError(), 0, len(content))) == content


def _written(process: Any, content: bytes) -> int:
    """Return an address of bytes, in memory as LLDB allocates it for the results of expressions.

    A value made of bytes alone is lost when LLDB copies it.
    """
    error = lldb.SBError()
    key = process.GetUniqueID()
    if key not in _scratch:
        kind = lldb.ePermissionsReadable | lldb.ePermissionsWritable
        _scratch[key] = process.AllocateMemory(_ROOM, kind, error)
    if error.Success():
        process.WriteMemory(_scratch[key], content, error)
    if error.Fail():
        _scratch.pop(key, None)
        raise layouts.Unknown("there is no memory for it")
    return _scratch[key]


def _word(target: Any) -> int:
    return int(target.GetAddressByteSize())


def _at(target: Any, address: int, kind: Any) -> Any:
    value = target.CreateValueFromAddress("returned", lldb.SBAddress(address, target), kind)
    error = lldb.SBError()
    target.GetProcess().ReadMemory(address, max(kind.GetByteSize(), 1), error)
    if error.Fail() or not value.IsValid():
        raise layouts.Unknown("its memory cannot be read")
    return value


# --- registers and memory ---------------------------------------------------------------------


def _unsigned(frame: Any, name: str) -> int:
    return int.from_bytes(_bytes(frame, name), "little")


def _bytes(frame: Any, name: str) -> bytes:
    # Rust's formatters make a synthetic value of every integer.
    data = frame.FindRegister(name).GetNonSyntheticValue().GetData()
    return bytes(data.ReadRawData(lldb.SBError(), 0, data.GetByteSize()))


# --- types ------------------------------------------------------------------------------------


def _is_by_address(frame: Any, kind: Any) -> bool:
    """Whether a class of C++ is returned in memory because it cannot be copied bytewise.

    Raises Unknown where the debug information does not say.
    """
    target = frame.GetThread().GetProcess().GetTarget()
    sure, possible = _copied(target, kind, 0)
    near = 0 <= _unsigned(frame, "rax") - frame.GetSP() < _STACK
    if possible and near and not sure:
        raise layouts.Unknown("its copy constructor or destructor may be trivial")
    return sure


def _copied(target: Any, kind: Any, depth: int) -> tuple[bool, bool]:
    """Return whether a type certainly, and whether it possibly, needs more than a copy of bytes."""
    bare = kind.GetCanonicalType()
    while bare.GetTypeClass() & lldb.eTypeClassArray:
        bare = bare.GetArrayElementType().GetCanonicalType()
    if not bare.GetTypeClass() & _CLASSES or depth > _DEEPEST:
        return False, False
    if bare.IsPolymorphicClass():
        return True, True
    functions = [bare.GetMemberFunctionAtIndex(i) for i in range(bare.GetNumberOfMemberFunctions())]
    found = [(_has_code(target, each), True) for each in functions if _copies(each, bare)]
    inner = [bare.GetDirectBaseClassAtIndex(i) for i in range(bare.GetNumberOfDirectBaseClasses())]
    inner += [bare.GetFieldAtIndex(i) for i in range(bare.GetNumberOfFields())]
    found += [_copied(target, each.GetType(), depth + 1) for each in inner]
    return any(sure for sure, _ in found), any(possible for _, possible in found)


def _copies(function: Any, kind: Any) -> bool:
    """Whether a member function is a destructor, or a copy or move constructor."""
    title = function.GetName() or ""
    name = (kind.GetName() or "").partition("<")[0].rpartition("::")[2]
    if title.startswith("~"):
        return True
    if title.partition("<")[0] != name or function.GetNumberOfArguments() != 1:
        return False
    given = function.GetArgumentTypeAtIndex(0)
    target = given.GetDereferencedType().GetUnqualifiedType().GetName() or ""
    return bool(given.IsReferenceType()) and target.partition("<")[0].rpartition("::")[2] == name


def _has_code(target: Any, function: Any) -> bool:
    """Whether a constructor or destructor was compiled: a trivial one never is."""
    mangled = function.GetMangledName() or ""
    return any(
        target.FindSymbols(mangled.replace(unified, real)).GetSize()
        for unified, reals in (("D4E", ("D1E", "D2E")), ("C4E", ("C1E", "C2E")))
        if unified in mangled
        for real in reals
    )


def _layout(kind: Any, rust: bool) -> Any:
    bare = kind.GetCanonicalType()
    size, group, basic = bare.GetByteSize(), bare.GetTypeClass(), bare.GetBasicType()
    if group & lldb.eTypeClassArray:
        element = _layout(bare.GetArrayElementType(), rust)
        return layouts.array(size, size // max(element.size, 1), element)
    if group & _CLASSES:
        return _of_variants(bare) if rust and _variants(bare) else _of_class(bare, rust)
    if group & lldb.eTypeClassComplexFloat:
        return layouts.array(size, 2, layouts.Layout(size // 2, layouts.FLOAT))
    if basic in _FLOATS:
        return layouts.Layout(size, layouts.FLOAT)
    if basic in _WIDE:
        return layouts.Layout(size, layouts.WIDE)
    if group & (_INTEGERS | lldb.eTypeClassBuiltin) or bare.IsReferenceType():
        return layouts.Layout(size, layouts.INT)
    raise layouts.Unknown(bare.GetName())


def _of_class(bare: Any, rust: bool) -> Any:
    fields = []
    word = layouts.Layout(8, layouts.INT)
    if bare.IsPolymorphicClass():
        fields.append((0, word))
    for i in range(bare.GetNumberOfDirectBaseClasses()):
        each = bare.GetDirectBaseClassAtIndex(i)
        fields.append((each.GetOffsetInBytes(), _layout(each.GetType(), rust)))
    for i in range(bare.GetNumberOfFields()):
        each = bare.GetFieldAtIndex(i)
        if each.IsBitfield():
            start = each.GetOffsetInBits()
            last = start + each.GetBitfieldSizeInBits() - 1
            bits = layouts.Layout(1, layouts.INT)
            fields += [(at, bits) for at in range(start // 8, last // 8 + 1)]
        else:
            fields.append((each.GetOffsetInBytes(), _layout(each.GetType(), rust)))
    union = bare.GetTypeClass() & lldb.eTypeClassUnion
    return layouts.Layout(bare.GetByteSize(), layouts.UNION if union else layouts.STRUCT, fields)


def _variants(bare: Any) -> Any:
    """Return LLDB's union of the variants of a Rust enum; None for another type."""
    if bare.GetNumberOfFields() != 1 or bare.GetFieldAtIndex(0).GetName() != "$variants$":
        return None
    return bare.GetFieldAtIndex(0).GetType()


def _of_variants(bare: Any) -> Any:
    union, fields, tag = _variants(bare), [], None
    for i in range(union.GetNumberOfFields()):
        variant = union.GetFieldAtIndex(i).GetType()
        for j in range(variant.GetNumberOfFields()):
            field = variant.GetFieldAtIndex(j)
            if field.GetName() == "$discr$":
                tag = field.GetOffsetInBytes(), field.GetType().GetByteSize()
            else:
                fields.append((0, _of_class(field.GetType().GetCanonicalType(), True)))
    return layouts.Layout(bare.GetByteSize(), layouts.ENUM, fields, tag)
