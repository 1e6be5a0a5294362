# mypy: ignore-errors
"""Runs inside gdb: evaluates Rust syntax that gdb's evaluator does not support.

Nested tuple fields, targets of Rc, Arc, Box and references, elements, entries and lengths of
containers; names of functions. Only memory is read: no function of the program is called, so
`lock()` and `borrow()` take nothing.
"""

import json
import re

import gdb

import __main__

_TOKEN = re.compile(
    r"\s*(?:(?P<field>\.\s*(?:[A-Za-z_]\w*|\d+)(?!\w|\s*\())|(?P<call>\.\s*[A-Za-z_]\w*\s*\(\s*\))"
    r"|\.\s*(?P<test>[a-z_]+)\s*\(\s*&*\s*(?P<given>\"(?:[^\"\\]|\\.)*\"|\d+)\s*\)"
    r"|(?P<index>\[(?:[^\[\]\"]|\[[^\[\]\"]*\])+\])|(?P<key>\[\s*\"(?:[^\"\\]|\\.)*\"\s*\]))"
)
_NAME = r"\$?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*"
_FIRST = re.compile(
    rf"\s*(?P<operators>[*&]*)\s*(?:(?P<name>{_NAME})|\((?P<stars>\*+)(?P<target>{_NAME})\))"
)
#: where types of the standard library store their length
_LENGTHS = (
    ("len",),
    ("length",),
    ("vec", "len"),
    ("base", "table", "table", "items"),
    ("base", "map", "table", "table", "items"),
    ("map", "length"),
    ("data", "len"),
    ("inner", "inner", "inner", "len"),
)
_VARIANT = re.compile(r"(?:^|::)(Some|None|Ok|Err)\b")
_UNWRAPPED = re.compile(r"core::(?:option::Option|result::Result)<")
_VARIANTS = {"is_some": "Some", "is_none": "None", "is_ok": "Ok", "is_err": "Err"}
_TESTS = {"starts_with": str.startswith, "ends_with": str.endswith, "contains": str.__contains__}
#: calls without side effects on the value
_PEEKS = frozenset(
    [
        "as_ref",
        "as_str",
        "as_slice",
        "as_path",
        "as_deref",
        "borrow",
        "lock",
        "read",
        "unwrap",
        "clone",
        "get",
    ]
)
_DEEPEST = 8


#: locks, their guards and cells, whose printer has the value as a child
_HOLDER = re.compile(
    r"std::sync::(\w+::)*(Mutex|RwLock)(|Guard|ReadGuard|WriteGuard)<|core::cell::once::OnceCell<"
)


class CannotRead(ValueError):
    pass


def _names(value):
    return __main__.freezeframe_rust_names(value)


def _behind(value):
    """Return the target of a pointer, Box, Rc, Arc or guard, or the value in a cell; else None."""
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        return value.dereference()
    name = str(kind)
    held = __main__.freezeframe_rust_target(value)
    if held is not None:
        return held if isinstance(held, gdb.Value) else None
    if re.match(r"alloc::(rc::Rc|sync::Arc)<", name):
        inner = value["ptr"]["pointer"].dereference()
        return inner["value"] if "value" in _names(inner) else inner["data"]
    if name.startswith("core::pin::Pin<"):
        return value[kind.fields()[0]]
    if _HOLDER.match(name):
        printer = __main__.freezeframe_rust_printer(value)
        found = dict(printer.children()) if hasattr(printer, "children") else {}
        return found.get("value")
    if re.match("core::cell::(Ref)?Cell<", name):
        return value["value"]["value"]
    return None


def _member(value, name):
    field = f"__{name}" if name.isdigit() else name
    for _ in range(_DEEPEST):
        if field in _names(value):
            return value[field]
        inner = _behind(value)
        if inner is None:
            break
        value = inner
    raise CannotRead(f"{value.type} has no field {name}")


def _printed(value):
    """Return the container in a value, and its pretty-printer; an array has none."""
    for _ in range(_DEEPEST):
        printer = gdb.default_visualizer(value)
        hint = getattr(printer, "display_hint", lambda: None)()
        if hint in ("array", "map") or value.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
            return value, printer
        inner = _behind(value)
        if inner is None:
            break
        value = inner
    raise CannotRead(f"{value.type} has no elements")


def _element(value, index):
    try:
        value, printer = _printed(value)
    except CannotRead:
        if value.type.strip_typedefs().code != gdb.TYPE_CODE_PTR:
            raise
        return value[index]  # a raw pointer to the first of several
    if printer is None:
        low, high = value.type.strip_typedefs().range()
        if index > high:
            raise CannotRead(f"there is no element {index}: there are {high - low + 1}")
        return value[index]
    if printer.display_hint() == "map":
        return _entry(value, index)
    count = 0
    for _, child in printer.children():
        if count == index:
            return child
        count += 1
    raise CannotRead(f"there is no element {index}: there are {count}")


def _at(value, index):
    """Return the element or entry that an expression in brackets names."""
    if index.isdigit():
        return _element(value, int(index))
    key = __main__.freezeframe_evaluate(index)
    text = __main__.freezeframe_characters(key)
    return _element(value, int(key)) if text is None else _entry(value, text)


def _entry(value, key):
    value, printer = _printed(value)
    children = iter(() if printer is None else printer.children())
    for _, each in children:
        held = next(children, (None, None))[1]
        if held is not None and _is(each, key):
            return held
    raise CannotRead(f"there is no entry {json.dumps(key)}")


def _is(value, key):
    """Whether a value is a number or a string."""
    if isinstance(key, str):
        return __main__.freezeframe_characters(value) == key
    return isinstance(value, gdb.Value) and value.format_string() == str(key)


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
    text = __main__.freezeframe_characters(value) if name in ("len", "is_empty") else None
    if text is not None:
        size = len(text.encode("utf-8"))
        return gdb.Value(size if name == "len" else size == 0)
    if name == "len":
        return _length(value)
    if name == "is_empty":
        return gdb.Value(int(_length(value)) == 0)
    if name in _VARIANTS:
        variant = _VARIANT.search(value.format_string(raw=True))
        if variant is None:
            raise CannotRead(f"{value.type} is neither an Option nor a Result")
        return gdb.Value(variant[1] == _VARIANTS[name])
    if name == "unwrap" and _UNWRAPPED.match(str(value.type.strip_typedefs())):
        held = _VARIANT.search(value.format_string(raw=True))
        if held is None or held[1] in ("None", "Err"):
            raise CannotRead(f"it is {held[1] if held else 'neither'}: unwrap() would panic")
        return value[held[1]]["__0"]
    if name in _PEEKS:
        inner = _behind(value) if name in ("borrow", "lock", "read", "get") else None
        return value if inner is None else inner
    raise CannotRead(f"{name}() would have to run: gdb finds no code of it")


def _tested(value, name, given):
    """Return whether a string or a container has what was requested."""
    text = __main__.freezeframe_characters(value)
    if text is not None and name in _TESTS and isinstance(given, str):
        return gdb.Value(_TESTS[name](text, given))
    if name not in ("contains", "contains_key"):
        raise CannotRead(f"{name}() would have to run: gdb finds no code of it")
    value, printer = _printed(value)
    if printer is None:
        keys = [value[index] for index in range(value.type.strip_typedefs().range()[1] + 1)]
    else:
        children = [each for _, each in printer.children()]
        keys = children[::2] if printer.display_hint() == "map" else children
    return gdb.Value(any(_is(each, given) for each in keys))


def _resolve(expression):
    first = _FIRST.match(expression)
    if first is None:
        raise CannotRead("it is not a path of names, fields and indexes")
    value = gdb.parse_and_eval(first["name"] or first["target"])
    for _ in first["stars"] or "":
        value = _target(value)
    at = first.end()
    while expression[at:].strip():
        found = _TOKEN.match(expression, at)
        if found is None:
            raise CannotRead("it is not a path of names, fields and indexes")
        at = found.end()
        if found["field"]:
            value = _member(value, found["field"].lstrip(". "))
        elif found["test"]:
            value = _tested(value, found["test"], json.loads(found["given"]))
        elif found["call"]:
            value = _called(value, found["call"].lstrip(". ").rstrip("() "))
        elif found["index"]:
            value = _at(value, found["index"][1:-1].strip().lstrip("&"))
        else:
            value = _entry(value, json.loads(found["key"].strip("[] ")))
    for operator in reversed(first["operators"]):
        value = _target(value) if operator == "*" else value.address
    return value


def _target(value):
    found = _behind(value)
    if found is None:
        raise CannotRead("it cannot be dereferenced")
    return found


def freezeframe_rust_behind(value):
    """Return the target of a pointer, which may be a lazy string, or the value in a cell; None if
    the value is neither."""
    held = _behind(value)
    return __main__.freezeframe_rust_target(value) if held is None else held


def freezeframe_read_rust(expression):
    """Return the value of a path in Rust syntax. Raises CannotRead or gdb.error."""
    return _resolve(expression)


def freezeframe_print_symbols(first, last):
    """Print the linkage names of the functions of frames, by level."""
    frame, level, symbols = gdb.newest_frame(), 0, {}
    while frame is not None and level <= last:
        function = frame.function()
        if level >= first and function is not None:
            symbols[level] = function.linkage_name
        frame, level = frame.older(), level + 1
    print(json.dumps(symbols))
