"""Runs inside LLDB: patches the formatters of the Rust toolchain."""

import json
import re
import sys
from typing import Any

import lldb  # type: ignore[import-not-found]

#: types whose values leave the highest bit of a word free, where an enum stores its tag
_HIGH_NICHES = ("NoHighBit", "::Cap")
_HIGH_BIT = 1 << 63
#: the name of the toolchain's formatter for enums
_ENUM = "ClangEncodedEnumSummaryProvider"
#: maximum bytes of a string to read
_LONGEST = 4096


def _variant_index(_: Any, variants: Any) -> int:
    """Return the index of an enum's variant.

    LLDB 22.1.8 names a variant by the low half of its tag: that of `Result<i32, String>::Ok` is
    1 << 63, its name `$variant$0`, and the toolchain's formatter (Rust 1.95) takes it for `Err`.
    """
    default = 0
    named = []
    for index in range(variants.GetNumChildren()):
        variant = variants.GetChildAtIndex(index)
        tag = variant.GetChildMemberWithName("$discr$")
        if tag.IsValid():
            named.append((index, variant.GetName(), tag))
        else:
            default = index
    high = bool(named) and _has_high_niche(
        variants.GetChildAtIndex(default).GetType(), variants.GetChildAtIndex(named[0][0]).GetType()
    )
    for index, name, tag in named:
        number = tag.GetValueAsUnsigned()
        if high and number & _HIGH_BIT:
            number -= _HIGH_BIT
        elif high:
            continue
        if name == f"$variant${number}":
            return index
    return default


def _has_high_niche(default: Any, named: Any) -> bool:
    """Whether the value that shares its bytes with the tag never sets the highest bit.

    Read from the types: a returned value has no address.
    """
    where = next((field.GetOffsetInBytes() for field in named.fields if field.name == "$discr$"), 0)
    kind = default
    for _ in range(12):
        if any(name in (kind.GetName() or "") for name in _HIGH_NICHES):
            return True
        holding = [
            field
            for field in kind.fields
            if field.GetOffsetInBytes() <= where
            and where < field.GetOffsetInBytes() + field.GetType().GetByteSize()
        ]
        if not holding:
            return False
        where -= holding[0].GetOffsetInBytes()
        kind = holding[0].GetType().GetCanonicalType()
    return False


#: maximum length of a container: a larger one is not initialised
_MOST_ELEMENTS = 1 << 40


def _bounded_text(summary: Any) -> Any:
    """Format a string that may not be initialised: its length can be any number."""

    def summed(value: Any, names: Any) -> Any:
        try:
            return summary(value, names)
        except Exception:
            return "<not initialised, or its memory cannot be read>"

    return summed


def _patch_length(provider: Any, name: str) -> None:
    """Show no elements of a container whose length is impossible."""
    original = provider.update

    def update(self: Any) -> Any:
        result = original(self)
        if not 0 <= getattr(self, name, 0) < _MOST_ELEMENTS:
            setattr(self, name, 0)
        return result

    provider.update = update


#: maximum buckets of a hash map
_MOST_BUCKETS = 1 << 20


def _find_entries(provider: Any) -> None:
    """Find the entries of a hash map by reading its control bytes at once.

    The toolchain's formatter (Rust 1.95) creates a value for each: 20 s for 20,000 entries, each
    time it is shown.
    """
    table = provider.table()
    raw = table.GetChildMemberWithName("table")
    control = raw.GetChildMemberWithName("ctrl").GetChildAtIndex(0)
    kind = table.GetType().GetTemplateArgumentType(0)
    kind = kind.GetTypedefedType() if kind.IsTypedefType() else kind
    buckets = raw.GetChildMemberWithName("bucket_mask").GetValueAsUnsigned() + 1
    items = raw.GetChildMemberWithName("items").GetValueAsUnsigned()
    error = lldb.SBError()
    where = control.GetValueAsUnsigned()
    read = provider.valobj.GetProcess().ReadMemory(where, min(buckets, _MOST_BUCKETS), error)
    bytes_ = read if error.Success() and read is not None else b""
    # The highest bit is set if a bucket is empty or its entry was removed.
    provider.valid_indices = [index for index, byte in enumerate(bytes_) if byte < 0x80]
    provider.size = min(items, len(provider.valid_indices))
    provider.pair_type, provider.pair_type_size = kind, kind.GetByteSize()
    provider.new_layout, provider.data_ptr = True, control.Cast(kind.GetPointerType())


def _patch_hash_maps(provider: Any) -> None:
    """Patch maps with the layout of hashbrown since 2020; leave others to the toolchain."""
    slowly = provider.update

    def update(self: Any) -> None:
        table = self.table()
        kind = table.GetType().GetTemplateArgumentType(0)
        raw = table.GetChildMemberWithName("table")
        if kind.IsValid() and not raw.GetChildMemberWithName("data").IsValid():
            _find_entries(self)
        else:
            slowly(self)

    def get_child_at_index(self: Any, index: int) -> Any:
        """Return an entry of a map under its key; of a set, an element."""
        entry = by_index(self, index)
        if not self.show_values or not entry.IsValid():
            return entry
        key, held = (entry.GetNonSyntheticValue().GetChildAtIndex(each) for each in (0, 1))
        return held.Clone(f"key {key.GetSummary() or key.GetValue() or index}")

    provider.update = update
    by_index = provider.get_child_at_index
    provider.get_child_at_index = get_child_at_index


class Inner:
    """The value inside a cell, an atomic or a lock."""

    def __init__(self, value: Any, _: Any) -> None:
        self.value = value
        self.inner: Any = None
        self.update()

    def update(self) -> None:
        inner = self.value.GetNonSyntheticValue()
        self.inner = None
        for name in ("data", "value", "v", "value"):
            found = inner.GetChildMemberWithName(name)
            if found.IsValid():
                inner = found.GetNonSyntheticValue()
                self.inner = found.Clone("value")

    def num_children(self) -> int:
        return 0 if self.inner is None else 1

    def has_children(self) -> bool:
        return self.inner is not None

    def get_child_index(self, name: str) -> int:
        return 0

    def get_child_at_index(self, index: int) -> Any:
        return self.inner


def _behind_pointers(summary: Any) -> Any:
    """Format references to enums, too: LLDB calls the enum formatter for them."""

    def summed(value: Any, names: Any) -> Any:
        if not value.GetType().IsPointerType():
            return summary(value, names)
        target = value.Dereference()
        readable = target.GetNonSyntheticValue().GetData().GetByteSize() > 0
        return summary(target.GetSyntheticValue(), names) if readable else ""

    return summed


def leads_to_enum(kind: Any, _: Any) -> bool:
    return bool(
        kind.IsPointerType() and kind.GetPointeeType().GetFieldAtIndex(0).GetName() == "$variants$"
    )


def enum_behind(value: Any, names: Any) -> Any:
    """Format a reference to an enum before any value of that enum was shown."""
    return getattr(sys.modules["lldb_lookup"], _ENUM)(value, names)


class Behind:
    """The elements of a borrowed container: LLDB shows its implementation."""

    def __init__(self, value: Any, _: Any) -> None:
        self.value = value
        self.target: Any = None
        self.update()

    def update(self) -> None:
        self.target = self.value.GetNonSyntheticValue().Dereference().GetSyntheticValue()

    def num_children(self) -> int:
        return int(self.target.GetNumChildren())

    def has_children(self) -> bool:
        return True

    def get_child_index(self, name: str) -> int:
        return int(self.target.GetIndexOfChildWithName(name))

    def get_child_at_index(self, index: int) -> Any:
        return self.target.GetChildAtIndex(index)


def leads_to_container(kind: Any, _: Any) -> bool:
    if not kind.IsPointerType():
        return False
    return _CONTAINER.match(kind.GetPointeeType().GetUnqualifiedType().GetName() or "") is not None


def size_behind(value: Any, _: Any) -> str:
    return str(value.GetNonSyntheticValue().Dereference().GetSummary() or "")


def boxed_text(value: Any, _: Any) -> str:
    """Return the string in a `Box<str>`, which the toolchain's formatters omit."""
    raw = value.GetNonSyntheticValue()
    where = raw.GetChildMemberWithName("data_ptr").GetValueAsUnsigned()
    length = raw.GetChildMemberWithName("length").GetValueAsUnsigned()
    error = lldb.SBError()
    data = value.GetProcess().ReadMemory(where, min(length, _LONGEST), error) if length else b""
    if error.Fail():
        return f"<{error.GetCString()}>"
    return json.dumps(data.decode("utf-8", "replace"), ensure_ascii=False)


_CONTAINER = re.compile(
    r"(alloc::(\w+::)+(Vec|VecDeque)|std::collections::(\w+::)+(HashMap|HashSet))<"
)
_INNER = (
    "^std::sync::(poison::)?(mutex::Mutex|rwlock::RwLock)<.+>$",
    "^core::cell::(Cell|UnsafeCell)<.+>$",
    "^core::sync::atomic::Atomic",
)


def __lldb_init_module(debugger: Any, _: Any) -> None:
    providers = sys.modules.get("lldb_providers")
    enum = getattr(providers, "ClangEncodedEnumProvider", None)
    if enum is not None:
        enum._getCurrentVariantIndex = _variant_index
    maps = getattr(providers, "StdHashMapSyntheticProvider", None)
    if maps is not None:
        _patch_hash_maps(maps)
    for name, field in (
        ("StdStringSyntheticProvider", "length"),
        ("StdVecSyntheticProvider", "length"),
        ("StdSliceSyntheticProvider", "length"),
        ("StdVecDequeSyntheticProvider", "size"),
    ):
        if hasattr(providers, name):
            _patch_length(getattr(providers, name), field)
    lookup = sys.modules.get("lldb_lookup")
    for name in ("StdStringSummaryProvider", "StdStrSummaryProvider", "StdOsStringSummaryProvider"):
        if hasattr(lookup, name):
            setattr(lookup, name, _bounded_text(getattr(lookup, name)))
    if hasattr(lookup, _ENUM):
        setattr(lookup, _ENUM, _behind_pointers(getattr(lookup, _ENUM)))
        debugger.HandleCommand(
            f"type summary add --python-function {__name__}.enum_behind "
            f"--recognizer-function {__name__}.leads_to_enum"
        )
    debugger.HandleCommand(
        f"type synthetic add --python-class {__name__}.Behind "
        f"--recognizer-function {__name__}.leads_to_container"
    )
    debugger.HandleCommand(
        f"type summary add --expand --python-function {__name__}.size_behind "
        f"--recognizer-function {__name__}.leads_to_container"
    )
    for pattern in _INNER:
        debugger.HandleCommand(
            f'type synthetic add -w default --regex "{pattern}" --python-class {__name__}.Inner'
        )
    # u8 and i8 are numbers in Rust, not characters.
    debugger.HandleCommand('type format add --skip-pointers --format unsigned "unsigned char" "u8"')
    debugger.HandleCommand('type format add --skip-pointers --format decimal "char" "i8"')
    debugger.HandleCommand(
        'type summary add --skip-pointers --regex "^(unsigned char|u8) ?\\\\[[0-9]+\\\\]$" '
        '--summary-string "${var[]%u}"'
    )
    # A reference to a byte or to a character is not a string.
    for kind, shown in (("unsigned char|u8", "-> ${*var%u}"), ("char32_t|char", "-> ${*var%S}")):
        debugger.HandleCommand(
            f'type summary add --regex "^(const )?({kind}) ?\\\\*$" --summary-string "{shown}"'
        )
    debugger.HandleCommand(
        'type summary add --regex "^alloc::boxed::Box<str(, .+)?>$" '
        f"--python-function {__name__}.boxed_text"
    )
