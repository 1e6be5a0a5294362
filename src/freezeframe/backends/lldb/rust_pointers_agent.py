"""Runs inside LLDB, after the formatters of the Rust toolchain: formats targets of pointers.

`Some(Box)` shows the contents of the box, an entry of a map the container in it; `Rc<str>`,
`Arc<[T]>` and `Box<[T]>` show all their elements, not only the first.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import lldb  # type: ignore[import-not-found]

#: elements of a nested container to show inline, and bytes of a string
_MOST, _LONGEST = 5, 4096
_SIZE = re.compile(r"size=(\d+)")
#: raw pointers, which may be invalid
_RAW_POINTER = re.compile(r"\*(const|mut) ")
_BOXED_SLICE = r"^alloc::boxed::Box<\\[.+\\](, .+)?>$"
#: pointers and containers followed so far in the current value
_depth: list[int] = [0]


def _fields(value: Any, names: Any) -> Iterator[str]:
    """Write each member of a variant or a tuple."""
    raw = _RAW_POINTER.search(value.GetType().GetName() or "") is not None
    for index in range(value.GetNumChildren()):
        yield _text(value.GetChildAtIndex(index), names, follow=not raw)


def _text(value: Any, names: Any, *, follow: bool) -> str:
    summary = value.GetSummary()
    if summary is None and follow and value.GetType().IsPointerType() and not _depth[0]:
        return _followed(value, names)
    size = _SIZE.fullmatch(summary or "")
    if size is not None and not _depth[0]:
        return _contents(value, names, int(size[1]))
    text = summary if summary is not None else value.GetValue()
    if summary is None and value.GetType().IsPointerType():
        text = f"{value.GetValueAsUnsigned():#x}"
    if text is None:
        providers = sys.modules["lldb_providers"]
        tuple_like = providers.is_tuple_fields(value)
        write = providers.TupleSummaryProvider if tuple_like else providers.StructSummaryProvider
        text = write(value, names)
    return str(text)


def _followed(value: Any, names: Any) -> str:
    """Write a pointer and its target; only the pointer if the target is unreadable."""
    address = f"{value.GetValueAsUnsigned():#x}"
    target = value.Dereference()
    if target.GetNonSyntheticValue().GetData().GetByteSize() == 0:
        return address
    _depth[0] += 1
    try:
        text = _text(target.GetSyntheticValue(), names, follow=False)
    finally:
        _depth[0] -= 1
    name = _short(target) if text.startswith("{") else ""
    return f"{address} -> {name}{text}"


def _contents(value: Any, names: Any, size: int) -> str:
    _depth[0] += 1
    try:
        shown = []
        for index in range(min(size, _MOST)):
            child = value.GetChildAtIndex(index)
            # Entries of trees are named by their keys.
            key = (child.GetName() or "").partition("key ")[2]
            text = _text(child, names, follow=False)
            shown.append(f"{key}: {text}" if key else text)
    finally:
        _depth[0] -= 1
    rest = [f"… +{size - _MOST}"] if size > _MOST else []
    return f"{_short(value)}({', '.join([*shown, *rest])})"


def _short(value: Any) -> str:
    """Return the last component of a type's name, without its parameters."""
    return (value.GetType().GetName() or "").partition("<")[0].rpartition("::")[2]


# --- slices -------------------------------------------------------------------------------------


def _elements(value: Any) -> tuple[Any, int, bool] | None:
    """Return the first element behind an `Rc` or `Arc`, the length, and whether it is a string.

    None if it points to one value.
    """
    pointer = value.GetNonSyntheticValue().GetChildMemberWithName("ptr")
    pointer = pointer.GetChildMemberWithName("pointer")
    data, length = (pointer.GetChildMemberWithName(name) for name in ("data_ptr", "length"))
    if not data.IsValid() or not length.IsValid():
        return None
    inner = data.Dereference()
    first = inner.GetChildMemberWithName("value")
    first = first if first.IsValid() else inner.GetChildMemberWithName("data")
    name = pointer.GetType().GetName() or ""
    return (first, length.GetValueAsUnsigned(), name.endswith("<str>")) if first.IsValid() else None


class Elements:
    """The elements of a shared slice."""

    def __init__(self, first: Any, length: int) -> None:
        self.first, self.length = first, length

    def update(self) -> None:
        pass  # created anew at each stop

    def num_children(self) -> int:
        return self.length

    def has_children(self) -> bool:
        return True

    def get_child_index(self, name: str) -> int:
        index = name.strip("[]")
        return int(index) if index.isdigit() else -1

    def get_child_at_index(self, index: int) -> Any:
        kind = self.first.GetType()
        at = self.first.GetLoadAddress() + index * kind.GetByteSize()
        return self.first.CreateValueFromAddress(f"[{index}]", at, kind)


def _shared(provider: Callable[..., Any]) -> Callable[..., Any]:
    def made(value: Any, *rest: Any, **named: Any) -> Any:
        found = _elements(value)
        if found is None:
            return provider(value, *rest, **named)
        return Elements(found[0], 0 if found[2] else found[1])

    return made


def _count_from_zero(provider: Any) -> None:
    """Avoid negative counts, which raise an error: the `Rc` may not be initialised yet."""
    update = provider.update

    def counted(self: Any) -> None:
        update(self)
        self.weak_count = max(0, self.weak_count)

    provider.update = counted


def _shared_summary(summary: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def written(value: Any, names: Any) -> Any:
        found = _elements(value)
        if found is None:
            return summary(value, names)
        first, length, is_text = found
        if not is_text:
            return f"size={length}"
        error = lldb.SBError()
        size = min(length, _LONGEST)
        data = value.GetProcess().ReadMemory(first.GetLoadAddress(), size, error) if size else b""
        if error.Fail():
            return f"<{error.GetCString()}>"
        return json.dumps(data.decode("utf-8", "replace"), ensure_ascii=False)

    return written


def __lldb_init_module(debugger: Any, _: Any) -> None:
    providers, lookup = sys.modules.get("lldb_providers"), sys.modules.get("lldb_lookup")
    if hasattr(providers, "aggregate_field_summary") and hasattr(providers, "is_tuple_fields"):
        providers.aggregate_field_summary = _fields  # type: ignore[union-attr]
    if (shared := getattr(lookup, "StdRcSyntheticProvider", None)) is not None:
        _count_from_zero(shared)
    for name, patched in (
        ("StdRcSyntheticProvider", _shared),
        ("StdRcSummaryProvider", _shared_summary),
    ):
        if hasattr(lookup, name):
            setattr(lookup, name, patched(getattr(lookup, name)))
    if hasattr(lookup, "StdSliceSyntheticProvider") and hasattr(lookup, "SizeSummaryProvider"):
        for command in (
            f'synthetic add -w default --regex "{_BOXED_SLICE}" '
            "--python-class lldb_lookup.StdSliceSyntheticProvider",
            f'summary add -w default --expand --regex "{_BOXED_SLICE}" '
            "--python-function lldb_lookup.SizeSummaryProvider",
        ):
            debugger.HandleCommand(f"type {command}")
