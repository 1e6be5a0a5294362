# mypy: ignore-errors
"""Runs inside gdb: the value that a function returned, where gdb has a wrong one or none.

gdb reads Rust's values as C's, and its values are copies without an address, which printers of
C++ containers need. Here the value is one in memory: where the function wrote it, or bytes that
equal it in the part of the stack that the function has left.
"""

import gdb
import return_layout_agent as layouts

#: bytes of the stack to search: what the function has left, and the caller's frame
_BELOW, _ABOVE = 8192, 2048
_SCALARS = (
    gdb.TYPE_CODE_INT,
    gdb.TYPE_CODE_CHAR,
    gdb.TYPE_CODE_BOOL,
    gdb.TYPE_CODE_ENUM,
    gdb.TYPE_CODE_PTR,
    gdb.TYPE_CODE_REF,
    gdb.TYPE_CODE_RVALUE_REF,
    gdb.TYPE_CODE_MEMBERPTR,
)
_STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
#: the type that the function to finish returns, if it is one of Rust's
_expected = []
_found = []


class Returned(gdb.Function):
    def __init__(self):
        super().__init__("_freezeframe_returned")

    def invoke(self):
        if not _found:
            raise gdb.GdbError("no function has returned a value here")
        return _found[0]


Returned()


def freezeframe_expect_returned():
    """Remember what the innermost function returns, which is about to be finished."""
    _expected.clear()
    frame = gdb.selected_frame()
    function = frame.function()
    if function is None or frame.type() == gdb.INLINE_FRAME:
        return
    if "rust" in gdb.parameter("language") or function.symtab.filename.endswith(".rs"):
        _expected.append(function.type.target())


def freezeframe_find_returned(own):
    """Print `found` if `$_freezeframe_returned()` is the value, `unknown` if nobody knows it.

    *own* is gdb's name for the value, if it has one; else nothing is printed.
    """
    _found.clear()
    if gdb.selected_frame().architecture().name() != "i386:x86-64":
        return
    rust = bool(_expected)
    try:
        if rust:
            value = _of_rust(_expected.pop())
        else:
            value = _in_memory(gdb.parse_and_eval(own)) if own else None
    except (layouts.Unknown, gdb.error, ValueError, RuntimeError):
        gdb.write("unknown\n" if rust or not own else "")
        return
    if value is not None:
        _found.append(value)
        gdb.write("found\n")


def _of_rust(kind):
    """Return the value; None if gdb has it."""
    bare = kind.strip_typedefs()
    if (
        not bare.sizeof
        or (bare.code in _SCALARS and bare.sizeof <= 8)
        or bare.code == gdb.TYPE_CODE_FLT
    ):
        return None
    return _of_registers(bare, kind, True)


def _of_registers(bare, kind, rust):
    layout = _layout(bare, rust)
    parts = layouts.pieces(layout, rust)
    if parts is None:
        return _at(_register("rax", 8), kind)
    contents = [
        _register(name, size)
        for name, (_, size, _) in zip(layouts.registers(parts), parts, strict=True)
    ]
    where = _search(layouts.pattern(bare.sizeof, parts, contents))
    if where is not None:
        return _at(where.to_bytes(8, "little"), kind)
    if _has_variants(layout):
        raise layouts.Unknown("gdb reads variants in memory only")
    whole = bytearray(bare.sizeof)
    for (offset, size, _), content in zip(parts, contents, strict=True):
        whole[offset : offset + size] = content[:size]
    return gdb.Value(bytes(whole), kind)


def _in_memory(value):
    """Return a copy of a value of C++ that has an address; None if no printer needs one."""
    bare = value.type.strip_typedefs()
    if bare.code == gdb.TYPE_CODE_INT and bare.sizeof > 8:
        return _of_registers(bare, value.type, False)  # gdb 13 reads only zeros
    if bare.code not in _STRUCTS or not str(bare).startswith("std::"):
        return None
    text = value.format_string(raw=True)
    addresses = [_register("rax", 8)]
    try:
        parts = layouts.pieces(_layout(bare, False), False)
        if parts is not None:
            names = layouts.registers(parts)
            contents = [_register(n, p[1]) for n, p in zip(names, parts, strict=True)]
            where = _search(layouts.pattern(bare.sizeof, parts, contents))
            addresses += [] if where is None else [where.to_bytes(8, "little")]
    except layouts.Unknown:
        pass
    for address in addresses:
        try:
            found = _at(address, value.type)
            if found.format_string(raw=True) == text:
                return found
        except gdb.error:
            continue
    return None


def _at(address, kind):
    where = gdb.Value(int.from_bytes(address, "little"))
    value = where.cast(kind.pointer()).dereference()
    value.fetch_lazy()
    return value


def _register(name, size):
    value = gdb.newest_frame().read_register(name)
    if name.startswith("xmm"):
        return bytes(int(value["v16_int8"][i]) & 0xFF for i in range(16))[:size]
    return (int(value) & ((1 << 64) - 1)).to_bytes(8, "little")[:size]


def _search(pattern):
    """Return an address near the stack pointer of bytes that match."""
    top = int.from_bytes(_register("rsp", 8), "little")
    for below, above in ((_BELOW, _ABOVE), (1024, 128)):
        try:
            memory = gdb.selected_inferior().read_memory(top - below, below + above)
        except gdb.MemoryError:
            continue
        found = pattern.search(bytes(memory))
        return None if found is None else top - below + found.start()
    return None


def _has_variants(layout):
    return layout.kind == layouts.ENUM or any(_has_variants(f) for _, f in layout.fields)


def _layout(kind, rust):
    bare = kind.strip_typedefs()
    if bare.code in _SCALARS:
        return layouts.Layout(bare.sizeof, layouts.INT)
    if bare.code == gdb.TYPE_CODE_FLT:
        wide = not rust and bare.sizeof == 16 and "long" in str(bare)
        return layouts.Layout(bare.sizeof, layouts.WIDE if wide else layouts.FLOAT)
    if bare.code == gdb.TYPE_CODE_ARRAY:
        low, high = bare.range()
        return layouts.array(bare.sizeof, high - low + 1, _layout(bare.target(), rust))
    if bare.code not in _STRUCTS:
        raise layouts.Unknown(str(bare))
    fields, tag = [], None
    for field in bare.fields():
        if not hasattr(field, "bitpos"):
            continue
        if rust and field.artificial:
            tag = field.bitpos // 8, field.type.sizeof
        elif field.bitsize:
            last = field.bitpos + field.bitsize - 1
            bits = layouts.Layout(1, layouts.INT)
            fields += [(i, bits) for i in range(field.bitpos // 8, last // 8 + 1)]
        else:
            fields.append((field.bitpos // 8, _layout(field.type, rust)))
    name = layouts.UNION if bare.code == gdb.TYPE_CODE_UNION else layouts.STRUCT
    return layouts.Layout(bare.sizeof, layouts.ENUM if tag else name, fields, tag)
