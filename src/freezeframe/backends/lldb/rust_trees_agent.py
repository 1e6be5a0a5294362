"""Runs inside LLDB: entries of Rust's B-trees, and trait objects by their dynamic type.

The toolchain's formatters show both raw: nodes, and a pointer with its vtable.
"""

import re
from collections.abc import Iterator
from typing import Any

import lldb  # type: ignore[import-not-found]

#: maximum entries, and vtables, to find
_MOST, _MOST_TABLES = 2000, 10_000
#: maximum levels of nodes: a higher tree is invalid
_HIGHEST = 20
#: entries of a node
_CAPACITY = 11
_TREES = "^alloc::collections::btree::(map::BTreeMap|set::BTreeSet)<.+>$"
_OBJECTS = "^(alloc::boxed::Box<dyn .+>|&(mut )?dyn .+)$"
_TABLE = re.compile(r"<(?P<type>.+) as [^<>]+(?:<.*>)?>::\{vtable\}")


class Tree:
    """The entries of a `BTreeMap`, named by their keys, or of a `BTreeSet`."""

    def __init__(self, value: Any, _: Any) -> None:
        self.value = value
        self.slots: list[tuple[int, int]] = []
        self.size = 0
        self.update()

    def update(self) -> None:
        self.slots, self.size = [], 0
        inner = self.value.GetNonSyntheticValue()
        self.whole = inner.GetChildMemberWithName("map").IsValid()
        if self.whole:
            inner = inner.GetChildMemberWithName("map").GetNonSyntheticValue()
        kind = inner.GetType()
        self.key, self.held = (kind.GetTemplateArgumentType(each) for each in (0, 1))
        length = inner.GetChildMemberWithName("length").GetValueAsUnsigned()
        root = _held(inner.GetChildMemberWithName("root").GetNonSyntheticValue())
        node = _pointer_in(root)
        leaf = node.GetType().GetPointeeType()
        if not length or not leaf.IsValid():
            return
        fields = [leaf.GetFieldAtIndex(index) for index in range(leaf.GetNumberOfFields())]
        self.offsets = {field.GetName(): field.GetOffsetInBytes() for field in fields}
        self.leaf_size = leaf.GetByteSize()
        height = root.GetChildMemberWithName("height").GetValueAsUnsigned()
        if {"keys", "vals", "len"} <= set(self.offsets) and height < _HIGHEST:
            self._walk(node.GetValueAsUnsigned(), height)
        # Unreadable entries cannot be shown.
        self.size = length if len(self.slots) in (length, _MOST) else len(self.slots)

    def _walk(self, node: int, height: int) -> None:
        count = self._read(node + self.offsets["len"], 2)
        for index in range(min(count, _CAPACITY) + 1):
            if height:
                # An inner node's edges follow its entries.
                self._walk(self._read(node + self.leaf_size + 8 * index, 8), height - 1)
            if len(self.slots) >= _MOST:
                return
            if index < count:
                self.slots.append((node, index))

    def _read(self, address: int, size: int) -> int:
        error = lldb.SBError()
        found = self.value.GetProcess().ReadUnsignedFromMemory(address, size, error)
        return int(found) if error.Success() else 0

    def num_children(self) -> int:
        return min(self.size, _MOST)

    def has_children(self) -> bool:
        return bool(self.slots)

    def get_child_index(self, name: str) -> int:
        digits = name.strip("[]")
        return int(digits) if digits.isdigit() else -1

    def get_child_at_index(self, index: int) -> Any:
        if not 0 <= index < len(self.slots):
            return None
        node, slot = self.slots[index]
        at = node + self.offsets["keys"] + slot * self.key.GetByteSize()
        key = self.value.CreateValueFromAddress(f"[{index}]", at, self.key)
        if self.whole:
            return key
        name = key.GetSummary() or key.GetValue() or f"{index}"
        at = node + self.offsets["vals"] + slot * self.held.GetByteSize()
        # A number in brackets would be taken for an index.
        return self.value.CreateValueFromAddress(f"key {name}", at, self.held)


def _pointer_in(root: Any) -> Any:
    """Return the pointer to the root node, in the member of the root that holds one."""
    members = [root.GetChildAtIndex(index) for index in range(root.GetNumChildren())]
    pointers = [each.GetChildMemberWithName("pointer") for each in members]
    return next((each for each in pointers if each.IsValid()), lldb.SBValue())


def _held(option: Any) -> Any:
    """Return the value of an `Option` without a tag: its last variant."""
    variants = option.GetChildMemberWithName("$variants$")
    last = variants.GetChildAtIndex(variants.GetNumChildren() - 1)
    return last.GetChildMemberWithName("value").GetChildMemberWithName("__0")


def size_of_tree(value: Any, _: Any) -> str:
    inner = value.GetNonSyntheticValue()
    inside = inner.GetChildMemberWithName("map")
    inner = inside.GetNonSyntheticValue() if inside.IsValid() else inner
    return f"size={inner.GetChildMemberWithName('length').GetValueAsUnsigned()}"


class Object:
    """The target of a `Box<dyn Trait>` or a `&dyn Trait`."""

    def __init__(self, value: Any, _: Any) -> None:
        self.value = value
        self.target: Any = None
        self.update()

    def update(self) -> None:
        self.target = None
        inner = self.value.GetNonSyntheticValue()
        table = inner.GetChildMemberWithName("vtable").GetValueAsUnsigned()
        address = inner.GetChildMemberWithName("pointer").GetValueAsUnsigned()
        target = self.value.GetTarget()
        kind = _type_of(target, table) if table and address else None
        if kind is not None:
            self.target = self.value.CreateValueFromAddress("*", address, kind)

    def num_children(self) -> int:
        return 2 if self.target is None else 1

    def has_children(self) -> bool:
        return True

    def get_child_index(self, name: str) -> int:
        return 0

    def get_child_at_index(self, index: int) -> Any:
        if self.target is not None:
            return self.target
        return self.value.GetNonSyntheticValue().GetChildAtIndex(index)


#: by process and number of modules: the type of each vtable, by address
_TABLES: dict[tuple[int, int], dict[int, str]] = {}


def _type_of(target: Any, table: int) -> Any:
    """Return the type of the vtable at an address; None if unknown."""
    now = target.GetProcess().GetUniqueID(), target.GetNumModules()
    if now not in _TABLES:
        _TABLES.clear()
        _TABLES[now] = dict(_tables(target))
    name = _TABLES[now].get(table)
    kind = target.FindFirstType(name) if name is not None else None
    return kind if kind is not None and kind.IsValid() else None


def _tables(target: Any) -> Iterator[tuple[int, str]]:
    found = target.FindGlobalVariables(r"\{vtable\}$", _MOST_TABLES, lldb.eMatchTypeRegex)
    for each in found:
        named = _TABLE.fullmatch(each.GetName() or "")
        if named is not None:
            yield each.GetLoadAddress(), named["type"]


def pointer_of(value: Any, _: Any) -> str:
    at = value.GetNonSyntheticValue().GetChildMemberWithName("pointer").GetValueAsUnsigned()
    return f"{at:#x}"


def __lldb_init_module(debugger: Any, _: Any) -> None:
    for pattern, shown, summary in (
        (_TREES, "Tree", "size_of_tree"),
        (_OBJECTS, "Object", "pointer_of"),
    ):
        debugger.HandleCommand(
            f'type synthetic add -w default --regex "{pattern}" --python-class {__name__}.{shown}'
        )
        debugger.HandleCommand(
            f'type summary add -w default --expand --regex "{pattern}" '
            f"--python-function {__name__}.{summary}"
        )
