# mypy: ignore-errors
"""Runs inside gdb: what Rust's own syntax says of values, and gdb's evaluator does not know.

Fields of fields of tuples, what is behind Rc, Arc, Box and references, elements and entries of
containers, how many there are. Only memory is read: no function of the program is called, so
`lock()` and `borrow()` take nothing.
"""

import json
import re

import gdb

_TOKEN = re.compile(
    r"\s*(?:(?P<field>\.\s*(?:[A-Za-z_]\w*|\d+)(?!\w|\s*\())|(?P<call>\.\s*[A-Za-z_]\w*\s*\(\s*\))"
    r"|(?P<index>\[\s*\d+\s*\])|(?P<key>\[\s*\"(?:[^\"\\]|\\.)*\"\s*\]))"
)
_FIRST = re.compile(r"\s*(?P<marks>[*&]*)\s*(?P<name>\$?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)")
#: where a type of the standard library says how many it holds
_LENGTHS = (
    ("len",),
    ("length",),
    ("vec", "len"),
    ("base", "table", "table", "items"),
    ("base", "map", "table", "table", "items"),
    ("map", "length"),
)
_VARIANT = re.compile(r"(?:^|::)(Some|None|Ok|Err)\b")
_UNWRAPPED = re.compile(r"core::(?:option::Option|result::Result)<")
_VARIANTS = {"is_some": "Some", "is_none": "None", "is_ok": "Ok", "is_err": "Err"}
#: calls that only look
_PEEKS = frozenset({"as_ref", "as_str", "as_slice", "borrow", "lock", "read", "unwrap", "clone"})
_DEEPEST = 8


class CannotRead(ValueError):
    pass


def _names(value):
    try:
        return {field.name for field in value.type.strip_typedefs().fields()}
    except (TypeError, gdb.error):
        return set()


def _behind(value):
    """What a pointer, a box or a counted pointer leads to, or a cell holds; None for others."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        return value.dereference()
    name = str(kind)
    if _names(value) == {"pointer", "vtable"}:
        # A trait object: gdb finds what it is by its table, in an expression only.
        gdb.set_convenience_variable("freezeframe_dyn", value)
        return gdb.parse_and_eval("*$freezeframe_dyn")
    if re.match(r"alloc::(rc::Rc|sync::Arc)<", name):
        inner = value["ptr"]["pointer"].dereference()
        return inner["value"] if "value" in _names(inner) else inner["data"]
    if re.match(r"(core::cell::RefCell|std::sync::(\w+::)*(Mutex|RwLock))<", name):
        inner = value["value"] if "value" in _names(value) else value["data"]
        return inner["value"] if "value" in _names(inner) else inner
    return None


def _member(value, name):
    wanted = f"__{name}" if name.isdigit() else name
    for _ in range(_DEEPEST):
        if wanted in _names(value):
            return value[wanted]
        inner = _behind(value)
        if inner is None:
            break
        value = inner
    raise CannotRead(f"{value.type} has no field {name}")


def _printed(value):
    """The container in a value, and how it is shown."""
    for _ in range(_DEEPEST):
        printer = gdb.default_visualizer(value)
        if printer is not None and getattr(printer, "display_hint", lambda: None)() in (
            "array",
            "map",
        ):
            return value, printer
        inner = _behind(value)
        if inner is None:
            break
        value = inner
    raise CannotRead(f"{value.type} has no elements")


def _element(value, index):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        if index > high:
            raise CannotRead(f"there is no element {index}: there are {high - low + 1}")
        return value[index]
    value, printer = _printed(value)
    if printer.display_hint() == "map":
        return _entry(value, index)
    count = 0
    for _, child in printer.children():
        if count == index:
            return child
        count += 1
    raise CannotRead(f"there is no element {index}: there are {count}")


def _entry(value, key):
    value, printer = _printed(value)
    children = iter(printer.children())
    for _, each in children:
        held = next(children, (None, None))[1]
        if held is not None and isinstance(each, gdb.Value):
            text = each.format_string()
            if isinstance(key, int):
                if text == str(key):
                    return held
            elif text[text.find('"') :] == json.dumps(key, ensure_ascii=False):
                return held
    raise CannotRead(f"there is no entry {json.dumps(key)}")


def _length(value):
    for _ in range(_DEEPEST):
        kind = value.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_ARRAY:
            low, high = kind.range()
            return gdb.Value(high - low + 1)
        for path in _LENGTHS:
            inner = value
            for name in path:
                inner = inner[name] if name in _names(inner) else None
                if inner is None:
                    break
            if inner is not None:
                return inner
        inner = _behind(value)
        if inner is None:
            break
        value = inner
    raise CannotRead(f"{value.type} has no length that gdb knows")


def _called(value, name):
    if name == "len":
        return _length(value)
    if name == "is_empty":
        return gdb.Value(int(_length(value)) == 0)
    if name in _VARIANTS:
        variant = _VARIANT.search(value.format_string(raw=True))
        if variant is None:
            raise CannotRead(f"{value.type} is no Option and no Result")
        return gdb.Value(variant[1] == _VARIANTS[name])
    if name == "unwrap" and _UNWRAPPED.match(str(value.type.strip_typedefs())):
        held = _VARIANT.search(value.format_string(raw=True))
        if held is None or held[1] in ("None", "Err"):
            raise CannotRead(f"it is {held[1] if held else 'neither'}: unwrap() would panic")
        return value[held[1]]["__0"]
    if name in _PEEKS:
        inner = _behind(value) if name in ("borrow", "lock", "read") else None
        return value if inner is None else inner
    raise CannotRead(f"{name}() would have to run: gdb finds no code of it")


def _resolve(expression):
    first = _FIRST.match(expression)
    if first is None:
        raise CannotRead("it is no path of names, fields and indexes")
    value = gdb.parse_and_eval(first["name"])
    at = first.end()
    while expression[at:].strip():
        found = _TOKEN.match(expression, at)
        if found is None:
            raise CannotRead("it is no path of names, fields and indexes")
        at = found.end()
        if found["field"]:
            value = _member(value, found["field"].lstrip(". "))
        elif found["call"]:
            value = _called(value, found["call"].lstrip(". ").rstrip("() "))
        elif found["index"]:
            value = _element(value, int(found["index"].strip("[] ")))
        else:
            value = _entry(value, json.loads(found["key"].strip("[] ")))
    for mark in reversed(first["marks"]):
        value = _behind(value) if mark == "*" else value.address
        if value is None:
            raise CannotRead("there is nothing behind it")
    return value


def freezeframe_put(name, packed, read):
    """Put what an expression means into a convenience variable; tells why it cannot.

    *read* finds out what it means; whatever else it raises, a `CannotRead` has a text to tell.
    """
    expression = bytes.fromhex(packed).decode("utf-8")
    try:
        gdb.set_convenience_variable(name, read(expression))
        gdb.write("freezeframe ok\n")
    except (gdb.error, RuntimeError, TypeError, ValueError, KeyError, AttributeError) as error:
        gdb.write(f"freezeframe no {str(error).strip() or type(error).__name__}\n")


def freezeframe_path(packed, name):
    """Put the value of a path in Rust's syntax into a convenience variable."""
    freezeframe_put(name, packed, _resolve)
