# mypy: ignore-errors
"""Runs inside gdb and LLDB: the registers in which a function returns a value on x86-64.

Both debuggers know C's calling convention, LLDB only part of it: it ignores base classes, arrays
and bit-fields, and classes that cannot be copied bytewise, which are returned in memory. Neither
knows Rust's, which returns each of two scalars in a register of its own.
"""

import re

INT, FLOAT, WIDE = "int", "float", "wide"
STRUCT, ARRAY, UNION, ENUM = "struct", "array", "union", "enum"
#: a value larger than two registers is returned in memory, in both conventions
_MOST, _WORD = 16, 8
_MOST_ELEMENTS = 16


class Layout:
    """A type: its size, its kind, and the offset and layout of each field.

    An enum of Rust has its variants as fields, and *tag*, the offset and size of the
    discriminant; None if it has none.
    """

    def __init__(self, size, kind, fields=(), tag=None):
        self.size, self.kind, self.fields, self.tag = size, kind, tuple(fields), tag


class Unknown(ValueError):
    """The place of the value cannot be told."""


def array(size, count, element):
    if size > _MOST or count > _MOST_ELEMENTS:
        return Layout(size, ARRAY)
    return Layout(size, ARRAY, [(i * element.size, element) for i in range(count)])


def pieces(layout, rust):
    """Return offset, size and register class of each part; None if the value is in memory.

    Raises Unknown.
    """
    if layout.size > _MOST:
        return None
    return _of_rust(layout) if rust else _of_c(layout)


def registers(parts):
    """Return the register of each part, and the offset of the part inside it."""
    free = {INT: ["rax", "rdx"], FLOAT: ["xmm0", "xmm1"], WIDE: ["st0"]}
    found = []
    for _, size, kind in parts:
        if not free[kind]:
            raise Unknown("more parts than registers")
        found.append(free[kind].pop(0))
        if kind == INT and size > 8:
            raise Unknown("a part larger than its register")
    return found


def pattern(size, parts, contents):
    """Return an expression that matches the value's bytes; bytes between the parts may differ."""
    at, found = 0, b""
    for (offset, length, _), content in sorted(zip(parts, contents, strict=True)):
        found += b"." * (offset - at) + re.escape(content[:length])
        at = offset + length
    return re.compile(found + b"." * (size - at), re.S)


# --- C and C++ --------------------------------------------------------------------------------


def _leaves(layout, at=0):
    if layout.kind in (INT, FLOAT, WIDE):
        yield at, layout.size, layout.kind
    for offset, field in layout.fields:
        yield from _leaves(field, at + offset)


def _of_c(layout):
    leaves = list(_leaves(layout))
    if [leaf for leaf in leaves if leaf[2] == WIDE]:
        return [(0, 10, WIDE)] if len(leaves) == 1 else None
    if [leaf for leaf in leaves if leaf[0] % max(leaf[1], 1)]:
        return None  # a packed struct
    if leaves == [(0, 16, FLOAT)]:
        return leaves
    classes = [None] * ((layout.size + 7) // 8)
    for offset, size, kind in leaves:
        for index in range(offset // 8, (offset + size - 1) // 8 + 1):
            classes[index] = INT if INT in (kind, classes[index]) else FLOAT
    if not leaves:
        return []  # an empty class
    if None in classes:
        raise Unknown("a part without fields")
    return [(8 * i, min(8, layout.size - 8 * i), kind) for i, kind in enumerate(classes)]


# --- Rust -------------------------------------------------------------------------------------


def _of_rust(layout):
    scalars = _scalars(layout)
    if scalars is None:
        # An aggregate is one integer, or it is in memory.
        return [(0, layout.size, INT)] if layout.size <= _WORD else None
    return [(0, 8, INT), (8, 8, INT)] if scalars == [(0, 16, INT)] else scalars


def _scalars(layout):
    """Return the one or two scalars that a type consists of to rustc; None for an aggregate."""
    if layout.kind in (INT, FLOAT):
        return [(0, layout.size, layout.kind)]
    if layout.kind == STRUCT:
        return _scalars_of_struct(layout)
    if layout.kind == ENUM:
        return _scalars_of_enum(layout)
    if layout.kind == UNION:
        kinds = [_scalars(field) for _, field in layout.fields if field.size]
        same = kinds and all(kind == kinds[0] for kind in kinds)
        return kinds[0] if same else None
    return None


def _scalars_of_struct(layout):
    parts = sorted(((o, f) for o, f in layout.fields if f.size), key=lambda part: part[0])
    if not parts:
        return [] if not layout.size else None
    inner = [_scalars(field) for _, field in parts]
    if len(parts) == 1:
        return inner[0] if (parts[0][0], parts[0][1].size) == (0, layout.size) else None
    if len(parts) > 2 or [each for each in inner if each is None or len(each) != 1]:
        return None
    return _pair(layout, *[(parts[i][0], *inner[i][0][1:]) for i in (0, 1)])


def _pair(layout, first, second):
    """Return two scalars if they lie as rustc lays out a pair of them."""
    align = second[1]
    behind = (first[1] + align - 1) // align * align
    room = max(first[1], align)
    whole = (behind + second[1] + room - 1) // room * room
    fits = (first[0], second[0], layout.size) == (0, behind, whole)
    return [first, second] if fits else None


def _scalars_of_enum(layout):
    variants = [[(o, f) for o, f in v.fields if f.size] for _, v in layout.fields]
    full = [variant for variant in variants if variant]
    if layout.tag is None or not full:
        whole = full[0] if full else []
        tag = [] if layout.tag is None else [(*layout.tag, INT)]
        return _scalars_of_struct(Layout(layout.size, STRUCT, whole)) if whole else tag
    start, length = layout.tag
    if [o for v in full for o, f in v if o < start + length and o + f.size > start]:
        # The discriminant is a niche inside a field of one variant.
        return _scalars_of_struct(Layout(layout.size, STRUCT, full[0])) if len(full) == 1 else None
    prims = set()
    for variant in full:
        inner = _scalars(variant[0][1]) if len(variant) == 1 else None
        if inner is None or len(inner) != 1:
            return None
        prims.add((variant[0][0], *inner[0][1:]))
    return _pair(layout, (start, length, INT), prims.pop()) if len(prims) == 1 else None
