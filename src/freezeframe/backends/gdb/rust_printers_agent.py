# mypy: ignore-errors
"""Runs inside gdb: pretty-printers for types of Rust's standard library that gdb and the toolchain
show by their internals, or wrongly.

Targets of fat pointers (`Rc<str>`, `Box<[T]>`, `&dyn Trait`), paths, times, locks and their guards,
cells, atomics, lists and errors of I/O. Only memory is read. A type whose layout is not the known
one is left to gdb.
"""

import os
import re

import gdb

_UNREADABLE = (gdb.error, RuntimeError, TypeError, ValueError, KeyError, AttributeError)
_VARIANT = re.compile(r"(?:^|::)(Some|None)\b")
#: a reference, a box or a counted pointer, and the unsized type it points to
_FAT = re.compile(
    r"(?:&(?:mut )?|\*(?:const|mut) |alloc::(?:boxed::Box|rc::Rc|sync::Arc)<)"
    r"(?P<text>str|std::path::Path|std::ffi::os_str::OsStr|core::ffi::c_str::CStr)?(?P<slice>\[)?"
)
_COUNTED = re.compile(r"alloc::(rc::Rc|sync::Arc)<")
#: words that precede the target in the allocation of an Rc or Arc: both counts
_COUNTS = 2
_NANOS = 1_000_000_000


class FreezeframeRustText(getattr(gdb, "ValuePrinter", object)):
    """A text, a lazy string or a value, without children."""

    def __init__(self, text, hint=None):
        self._text = text
        self._hint = hint

    def to_string(self):
        return self._text

    def display_hint(self):
        return self._hint


class FreezeframeRustChildren(FreezeframeRustText):
    """Named children, after a text."""

    def __init__(self, text, found, hint=None):
        super().__init__(text, hint)
        self._found = found

    def children(self):
        return iter(self._found)


def freezeframe_rust_names(value):
    """Return the names of a value's fields."""
    try:
        return {field.name for field in value.type.strip_typedefs().fields()}
    except (TypeError, gdb.error):
        return set()


def _only(value, *path):
    """Return the field at a path, or the only field where a name differs between versions."""
    for name in path:
        fields = value.type.strip_typedefs().fields()
        value = value[name] if name in freezeframe_rust_names(value) else value[fields[0]]
    return value


def _core(value):
    """Return the value in cells and newtypes: `AtomicU8 {v: UnsafeCell {value: (1)}}` is 1."""
    while value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        fields = [each for each in value.type.strip_typedefs().fields() if each.type.sizeof]
        if len(fields) != 1:
            break
        value = value[fields[0]]
    return value


# --- targets of fat pointers ----------------------------------------------------------------------


def freezeframe_rust_concrete(value):
    """Return the object behind a `{pointer, vtable}` pair; None if gdb does not know its type."""
    # gdb finds the type through the vtable's debug information only in an expression.
    gdb.set_convenience_variable("freezeframe_dyn", value)
    try:
        held = gdb.parse_and_eval("*$freezeframe_dyn")
    except gdb.error:
        held = None
    return None if held is None or "dyn " in str(held.type) else held


def _read_integers(address, count):
    word = gdb.lookup_type("usize")
    return [int((gdb.Value(address).cast(word.pointer()) + i).dereference()) for i in range(count)]


def _string_error(value):
    """Return the text of the error that Rust makes of a string; None for any other object.

    std has no debug information of that type, whose layout is a String's: address, length and
    capacity in any order, and the length is not above the capacity.
    """
    entries = _read_integers(int(value["vtable"]), 5)[3:]
    names = [gdb.execute(f"info symbol {each:#x}", to_string=True) for each in entries]
    if not all("::StringError as " in each for each in names):
        return None
    *sizes, address = sorted(_read_integers(int(value["pointer"]), 3))
    byte = gdb.Value(address).cast(gdb.lookup_type("u8").pointer())
    return byte.lazy_string(encoding="utf-8", length=sizes[0])


def freezeframe_rust_target(value):
    """Return the sized object, array or lazy string behind a fat pointer, Rc or Arc; None for any
    other value."""
    name = str(value.type.strip_typedefs())
    found = _FAT.match(name)
    if found is None or value.type.strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
        return None
    counted = _COUNTED.match(name) is not None
    fat = _only(value, "ptr", "pointer") if counted else value
    if fat.type.strip_typedefs().code != gdb.TYPE_CODE_STRUCT:
        return None
    names = freezeframe_rust_names(fat)
    if names == {"pointer", "vtable"}:
        held = freezeframe_rust_concrete(fat)
        if held is None or not counted:
            return _string_error(fat) if held is None and not counted else held
        align = _read_integers(int(fat["vtable"]), 3)[2]
        offset = -(-_COUNTS * fat["vtable"].type.sizeof // align) * align
        address = gdb.Value(int(fat["pointer"]) + offset)
        return address.cast(held.type.pointer()).dereference()
    if names != {"data_ptr", "length"}:
        return None
    first, length = fat["data_ptr"], int(fat["length"])
    if counted:
        first = first.dereference()[first.type.target().fields()[-1]].address
    if found["text"]:
        byte = first.cast(gdb.lookup_type("u8").pointer())
        length -= found["text"].endswith("CStr")
        return byte.lazy_string(encoding="utf-8", length=length)
    if not found["slice"]:
        return None
    return first.cast(first.type.target().array(length - 1).pointer()).dereference()


def freezeframe_rust_text(value, max_elements=200, depth=2):
    """Return gdb's text of a value, with the targets of the boxes and references in a variant or
    tuple."""
    text = value.format_string(max_elements=max_elements)
    if depth <= 0 or value.type.strip_typedefs().code not in _STRUCTS or "0x" not in text:
        return text
    for pointer in _pointers(value, _DEEPEST):
        behind = pointer.type.strip_typedefs().target().strip_typedefs()
        address = re.compile(rf"{int(pointer):#x}\b(?! ->)")
        if behind.sizeof == 0 or not address.search(text):
            continue
        try:
            target = freezeframe_rust_text(pointer.dereference(), max_elements, depth - 1)
        except gdb.error:
            continue
        text = address.sub(lambda found, target=target: f"{found[0]} -> {target}", text, count=1)
    return text


_STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
_DEEPEST = 4


def _pointers(value, depth, in_variant=False):
    """Yield the boxes and references of a variant or tuple; raw pointers look the same to gdb.

    Pointers of other structs may be raw and point past the last element, as an iterator's do.
    """
    bare = value.type.strip_typedefs()
    if bare.code == gdb.TYPE_CODE_PTR:
        if bare.target().strip_typedefs().code not in (gdb.TYPE_CODE_VOID, gdb.TYPE_CODE_FUNC):
            yield value
    elif bare.code in _STRUCTS and depth > 0 and gdb.default_visualizer(value) is None:
        for field in bare.fields():
            if field.artificial or not hasattr(field, "bitpos"):
                continue
            is_variant = (field.type.name or "").startswith(f"{bare.name}::")
            if in_variant or is_variant or re.fullmatch(r"__\d+", field.name or ""):
                yield from _pointers(value[field], depth - 1, is_variant)


def _fat(value):
    if _COUNTED.match(str(value.type.strip_typedefs())):
        return _counted(value)
    target = freezeframe_rust_target(value)
    if target is None:
        return None
    if not isinstance(target, gdb.Value):
        return FreezeframeRustText(target, "string")
    if target.type.code == gdb.TYPE_CODE_ARRAY:
        low, high = target.type.range()
        elements = ((f"[{index}]", target[index]) for index in range(low, high + 1))
        return FreezeframeRustChildren(f"Vec(size={high - low + 1})", elements, "array")
    return FreezeframeRustText(f"{int(value['pointer']):#x} -> {freezeframe_rust_text(target)}")


def _counted(value):
    target = freezeframe_rust_target(value)
    if target is None:
        return None  # sized: the toolchain's own printer is right
    kind = _COUNTED.match(str(value.type.strip_typedefs()))[1].partition("::")[2]
    fat = _only(value, "ptr", "pointer")
    strong, weak = _read_integers(int(fat[fat.type.fields()[0]]), _COUNTS)
    return FreezeframeRustChildren(f"{kind}(strong={strong}, weak={weak - 1})", [("value", target)])


def _weak(value):
    pointer = _only(value, "ptr", "pointer")
    while pointer.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        pointer = pointer[pointer.type.fields()[0]]
    address = int(pointer) & ((1 << 64) - 1)
    if address == (1 << 64) - 1:
        return FreezeframeRustText("Weak(none)")
    return FreezeframeRustText(f"Weak(strong={_read_integers(address, 1)[0]})")


# --- cells, locks and their guards ----------------------------------------------------------------


def _holding(name, *path):
    """Return the printer of a type that holds one value, at a path of fields."""

    def made(value):
        found = [("value", _only(value, *path))]
        if "poison" in freezeframe_rust_names(value) and path[0] == "data":
            found += [("poisoned", gdb.Value(True))] if int(_core(value["poison"])) else []
        return FreezeframeRustChildren(name, found)

    return made


def _through(name, *path):
    """Return the printer of a guard: the value behind its pointer to the lock."""

    def made(value):
        pointer = _only(value, path[0])
        while pointer.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
            pointer = pointer[pointer.type.fields()[0]]
        return FreezeframeRustChildren(name, [("value", _only(pointer.dereference(), *path[1:]))])

    return made


def _once_cell(value):
    held = value["inner"]["value"]
    variant = _VARIANT.search(held.format_string(raw=True))
    if variant is None or variant[1] == "None":
        return FreezeframeRustText("OnceCell(<uninit>)")
    return FreezeframeRustChildren("OnceCell", [("value", held["Some"]["__0"])])


def _atomic(value):
    inner = _core(value)
    if str(value.type.strip_typedefs()).endswith(("AtomicBool", "Atomic<bool>")):
        return FreezeframeRustText("true" if int(inner) else "false")
    return FreezeframeRustText(inner)


# --- collections and texts ------------------------------------------------------------------------


def _field(*path):
    """Return the printer of a type that is shown as one of its fields."""
    return lambda value: gdb.default_visualizer(_only(value, *path))


def _linked_list(value):
    def elements(node, count):
        for index in range(count):
            pointer = node["Some"]["__0"]["pointer"].dereference()
            yield f"[{index}]", pointer["element"]
            node = pointer["next"]

    count = int(value["len"])
    if count == 0:
        return FreezeframeRustText("VecDeque(size=0)")
    return FreezeframeRustChildren(
        f"VecDeque(size={count})", elements(value["head"], count), "array"
    )


def _c_string(value):
    held = value["inner"]
    byte = held["data_ptr"].cast(gdb.lookup_type("u8").pointer())
    return FreezeframeRustText(
        byte.lazy_string(encoding="utf-8", length=int(held["length"]) - 1), "string"
    )


# --- times ----------------------------------------------------------------------------------------


def _duration(value):
    seconds, nanos = int(value["secs"]), int(_core(value["nanos"]))
    total = seconds * _NANOS + nanos
    for unit, size in (("s", _NANOS), ("ms", 1_000_000), ("µs", 1000), ("ns", 1)):
        if total >= size or size == 1:
            whole, rest = divmod(total, size)
            digits = f"{rest:0{len(str(size)) - 1}}".rstrip("0") if rest else ""
            return FreezeframeRustText(f"{whole}.{digits}{unit}" if digits else f"{whole}{unit}")
    return None


def _instant(value):
    inner = value
    while "tv_sec" not in freezeframe_rust_names(inner):
        inner = inner[inner.type.strip_typedefs().fields()[0]]
    name = str(value.type.strip_typedefs()).rpartition("::")[2]
    nanos = int(_core(inner["tv_nsec"]))
    return FreezeframeRustText(f"{name} {{tv_sec: {int(inner['tv_sec'])}, tv_nsec: {nanos}}}")


# --- errors of I/O --------------------------------------------------------------------------------

_MESSAGE, _CUSTOM, _OS, _SIMPLE = range(4)


def _io_error(value):
    """Decode `std::io::Error`, which packs what it holds into a pointer with two tag bits."""
    bits = int(value["repr"]["__0"]["pointer"]) & ((1 << 64) - 1)
    tag, payload = bits & 3, bits >> 32
    if tag == _OS:
        return FreezeframeRustText(f'Os {{code: {payload}, message: "{os.strerror(payload)}"}}')
    if tag == _SIMPLE:
        kinds = gdb.lookup_type("std::io::error::ErrorKind").fields()
        named = [each.name for each in kinds if each.enumval == payload]
        return FreezeframeRustText(f"Kind({named[0].rpartition('::')[2]})") if named else None
    name = "Custom" if tag == _CUSTOM else "SimpleMessage"
    kind = gdb.lookup_type(f"std::io::error::{name}")
    return FreezeframeRustText(gdb.Value(bits - tag).cast(kind.pointer()).dereference())


_SYNC = r"std::sync::(?:\w+::)*"
_PRINTERS = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (r"alloc::(?:rc|sync)::Weak<", _weak),
        (r"(?:&|\*const |\*mut |alloc::(?:boxed::Box|rc::Rc|sync::Arc)<)", _fat),
        (_SYNC + "Mutex<", _holding("Mutex", "data", "value")),
        (_SYNC + "RwLock<", _holding("RwLock", "data", "value")),
        (_SYNC + "MutexGuard<", _through("MutexGuard", "lock", "data", "value")),
        (_SYNC + "RwLockWriteGuard<", _through("RwLockWriteGuard", "lock", "data", "value")),
        (_SYNC + "RwLockReadGuard<", _through("RwLockReadGuard", "data")),
        (r"core::cell::once::OnceCell<", _once_cell),
        (r"core::sync::atomic::Atomic", _atomic),
        (r"std::path::PathBuf$", _field("inner")),
        (r"alloc::ffi::c_str::CString$", _c_string),
        (r"alloc::collections::(?:\w+::)*BinaryHeap<", _field("data")),
        (r"alloc::collections::(?:\w+::)*LinkedList<", _linked_list),
        (r"core::time::Duration$", _duration),
        (r"std::time::(?:Instant|SystemTime)$", _instant),
        (r"std::io::error::Error$", _io_error),
    )
)


def freezeframe_rust_printer(value):
    """Return the printer of a value of Rust's standard library; None for any other value."""
    bare = value.type.strip_typedefs()
    if bare.code != gdb.TYPE_CODE_STRUCT:
        return None
    name = str(bare)
    for pattern, make in _PRINTERS:
        if pattern.match(name):
            try:
                return make(value)
            except _UNREADABLE:
                return None
    return None


def _come_first(event=None):
    """Put the printer before the toolchain's, which gdb loads with the program."""
    for objfile in gdb.objfiles():
        printers = objfile.pretty_printers
        loaded = any(getattr(each, "name", "") == "rust" for each in printers)
        if loaded and printers[0] is not freezeframe_rust_printer:
            printers.insert(0, freezeframe_rust_printer)


gdb.pretty_printers.append(freezeframe_rust_printer)
gdb.events.new_objfile.connect(_come_first)
gdb.events.stop.connect(_come_first)
