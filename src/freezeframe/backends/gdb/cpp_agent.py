# mypy: ignore-errors
"""Runs inside gdb: evaluates C++ standard library functions that gdb cannot call.

`v.size()`, `opt.value()`, `std::get<0>(t)`, `m.at("x")`, `*it`: such functions are inlined, or were
never compiled. Their results are read from memory; no code of the program runs.
"""

import json
import re

import gdb

_NAME = re.compile(r"\$?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
_GET = re.compile(r"(?:std::)?get\s*<")
_MEMBER = re.compile(r"(?P<way>\.|->)\s*(?P<name>[A-Za-z_]\w*)\s*")
_SIZE = re.compile(r"(?:length |with )(\d+)")
_STD = r"(?:const )?std::(?:__\w+::)*"
_POINTER = re.compile(_STD + r"(?:unique|shared|weak)_ptr<")
_OPTIONAL = re.compile(_STD + "optional<")
_VARIANT = re.compile(_STD + "variant<")
_STRING = re.compile(_STD + "basic_string<")
_BITSET = re.compile(_STD + "bitset<")
_VIEW = re.compile(_STD + "basic_string_view<")
#: iterators: the member that leads to the element, and whether it points to a linked node
_ITERATORS = (
    (re.compile(r"(?:const )?__gnu_cxx::__normal_iterator<"), "_M_current", False),
    (re.compile(_STD + "_Deque_iterator<"), "_M_cur", False),
    (re.compile(_STD + "_Rb_tree_(?:const_)?iterator<"), "_M_node", True),
    (re.compile(_STD + "_(?:Fwd_)?[Ll]ist_(?:const_)?iterator<"), "_M_node", True),
    (re.compile(_STD + "__detail::_(?:Local_)?Node_(?:const_)?iterator<"), "_M_cur", True),
)
_CLOSING = {"(": ")", "[": "]", "<": ">"}
#: maximum number of elements to count
_MOST = 1_000_000


class CannotRead(ValueError):
    pass


def _plain(value):
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return value.referenced_value()
    return value


def _kind(value):
    return str(value.type.strip_typedefs())


def _names(value):
    try:
        return {field.name for field in value.type.strip_typedefs().fields()}
    except (TypeError, gdb.error):
        return set()


def _printer(value):
    printer = gdb.default_visualizer(value)
    if printer is None or not hasattr(printer, "children"):
        raise CannotRead(f"{value.type} has no elements that gdb knows")
    return printer


def _held(value):
    """Return the value in an optional or a variant; None if it is empty."""
    printer = _printer(value)
    if hasattr(printer, "contained_value"):
        return printer.contained_value  # the printer's children may be those of the contained value
    return next((child for _, child in printer.children()), None)


def _behind(value):
    """Return the result of `*` on a value."""
    kind = _kind(value)
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return value.dereference()
    if _POINTER.match(kind):
        return _pointer(value).dereference()
    if _OPTIONAL.match(kind):
        held = _held(value)
        if held is None:
            raise CannotRead("it is empty (nullopt)")
        return held
    for pattern, member, linked in _ITERATORS:
        if pattern.match(kind):
            return _in_node(value, member) if linked else value[member].dereference()
    raise CannotRead(f"gdb does not know what * means for {value.type}")


def _in_node(value, member):
    """Return the element of a node: it follows the links, at its alignment."""
    kind = value.type.strip_typedefs().template_argument(0)
    node = value[member]
    if not int(node):
        raise CannotRead("it is at the end: there is no element")
    base = node.dereference()
    links = base.type.strip_typedefs()
    if "_M_color" in _names(base):
        above = base["_M_parent"]
        # A tree ends at its header, which is red and the parent of the root.
        if not int(above) or (int(above["_M_parent"]) == int(node) and not int(base["_M_color"])):
            raise CannotRead("it is at the end: there is no element")
    size = next((f.type.sizeof for f in links.fields() if f.is_base_class), links.sizeof)
    if member == "_M_node":
        size = links.sizeof
    room = kind.alignof
    where = int(node) + (size + room - 1) // room * room
    return gdb.Value(where).cast(kind.pointer()).dereference()


def _pointer(value):
    held = next((child for _, child in _printer(value).children()), None)
    if held is None or held.type.strip_typedefs().code != gdb.TYPE_CODE_PTR or not int(held):
        raise CannotRead("it points to nothing (nullptr)")
    return held


def _size(value):
    kind = value.type.strip_typedefs()
    if _BITSET.match(_kind(value)):
        return int(kind.template_argument(0))
    if kind.code == gdb.TYPE_CODE_ARRAY:
        low, high = kind.range()
        return high - low + 1
    for name in ("_M_string_length", "_M_len"):
        if name in _names(value):
            return int(value[name])
    printer = _printer(value)
    stated = _SIZE.search(str(printer.to_string() if hasattr(printer, "to_string") else ""))
    if stated is not None:
        return int(stated[1])
    count = _counted(printer)
    return count // 2 if _is_map(printer) else count


def _counted(printer):
    count = 0
    for _ in printer.children():
        count += 1
        if count > _MOST:
            raise CannotRead(f"it has more than {_MOST} elements")
    return count


def _is_map(printer):
    return getattr(printer, "display_hint", lambda: None)() == "map"


def _element(value, index):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        return value[index]
    size = _size(value)
    if not 0 <= index < size:
        raise CannotRead(f"there is no element {index}: there are {size}")
    if kind.code == gdb.TYPE_CODE_ARRAY:
        return value[index]
    if _STRING.match(_kind(value)):
        return value["_M_dataplus"]["_M_p"][index]
    if _VIEW.match(_kind(value)):
        return value["_M_str"][index]
    if _BITSET.match(_kind(value)):
        return gdb.Value(f"[{index}]" in dict(_printer(value).children()))
    for count, (_, child) in enumerate(_printer(value).children()):
        if count == index:
            return child
    raise CannotRead(f"there is no element {index}")


def _entries(value, key):
    """Yield the values of a key in a map, or the key in a set: multimaps may have several."""
    printer = _printer(value)
    text = _key_text(key)
    children = iter(printer.children())
    for _, each in children:
        held = next(children, (None, None))[1] if _is_map(printer) else each
        if isinstance(each, gdb.Value) and _key_text(each) == text:
            yield held


def _key_text(key):
    if isinstance(key, str):
        return json.dumps(key, ensure_ascii=False)
    text = key.format_string(max_elements=0, symbols=False)
    return text[text.find('"') :] if '"' in text else text


def _at(value, key):
    printer = None if value.type.strip_typedefs().code != gdb.TYPE_CODE_STRUCT else _printer(value)
    if printer is not None and _is_map(printer):
        for held in _entries(value, key):
            return held
        raise CannotRead(f"there is no entry {_key_text(key)}")
    if isinstance(key, str):
        raise CannotRead(f"{value.type} has no entries by name")
    return _element(value, int(key))


def _along(value, path):
    """Return a nested member, also of a base class; None if there is none."""
    try:
        for each in path:
            value = value[each]
    except gdb.error:
        return None
    return value


def _called(value, name, given):
    kind = _kind(value)
    if name in ("size", "length") and not given:
        return gdb.Value(_size(value))
    if name == "empty" and not given:
        return gdb.Value(_size(value) == 0)
    if name in ("value", "has_value") and not given and _OPTIONAL.match(kind):
        return gdb.Value(_held(value) is not None) if name == "has_value" else _behind(value)
    if name in ("c_str", "data") and not given:
        for path in (("_M_dataplus", "_M_p"), ("_M_str",), ("_M_impl", "_M_start"), ("_M_elems",)):
            inner = _along(value, path)
            if inner is not None:
                return inner
    if name == "get" and not given and _POINTER.match(kind):
        return next(child for _, child in _printer(value).children())
    if name == "use_count" and not given and _POINTER.match(kind):
        block = value["_M_refcount"]["_M_pi"]
        return block["_M_use_count"] if int(block) else gdb.Value(0)
    if name == "index" and not given and _VARIANT.match(kind):
        return value["_M_index"]
    if name in ("front", "back") and not given:
        return _element(value, 0 if name == "front" else _size(value) - 1)
    if name == "at" and len(given) == 1:
        return _at(value, given[0])
    if name in ("contains", "count") and len(given) == 1:
        count = sum(1 for _ in _entries(value, given[0]))
        return gdb.Value(count if name == "count" else count > 0)
    raise CannotRead(f"{name}() would have to run, and gdb cannot call it: print the object itself")


def _got(value, which):
    """Return `std::get<which>` of a value."""
    kind = _kind(value)
    if _VARIANT.match(kind):
        index, held = int(value["_M_index"]), _held(value)
        if held is None:
            raise CannotRead("the variant holds nothing")
        alternative = which if which.isdigit() else gdb.lookup_type(which).strip_typedefs()
        if str(alternative) not in (str(index), _kind(held)):
            raise CannotRead(f"the variant holds its alternative {index}: {held.type}")
        return held
    if not which.isdigit():
        raise CannotRead("write the number of the element: std::get<0>(…)")
    if {"first", "second"} <= _names(value) and int(which) < 2:
        return value[("first", "second")[int(which)]]
    if "_M_elems" in _names(value):
        return _element(value["_M_elems"], int(which))
    children = [child for _, child in _printer(value).children()]
    if int(which) >= len(children):
        raise CannotRead(f"there is no element {which}: there are {len(children)}")
    return children[int(which)]


class _Expression:
    """Parses one expression: operators, a name or `std::get`, members and calls."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def value(self):
        self._blank()
        operator = self.text[self.at : self.at + 1]
        if operator in ("*", "&"):
            self.at += 1
            value = self.value()
            return _plain(_behind(value) if operator == "*" else value.address)
        value = _plain(self._first())
        while self._more():
            value = _plain(self._next(value))
        return value

    def whole(self):
        value = self.value()
        self._blank()
        if self.at < len(self.text):
            raise CannotRead("it is not a path of names, members and calls")
        return value

    def _blank(self):
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def _more(self):
        self._blank()
        return self.text.startswith((".", "->", "["), self.at)

    def _inside(self):
        """Return the text in the brackets that open here, and move past them."""
        opened, start = [_CLOSING[self.text[self.at]]], self.at + 1
        self.at += 1
        while self.at < len(self.text):
            here = self.text[self.at]
            if here in "\"'":
                found = re.compile(here + r"(?:\\.|[^\\])*?" + here).match(self.text, self.at)
                self.at = found.end() if found else len(self.text)
                continue
            self.at += 1
            if here == opened[-1]:
                opened.pop()
                if not opened:
                    return self.text[start : self.at - 1].strip()
            elif here in "([" or (here == "<" and opened[-1] == ">"):
                opened.append(_CLOSING[here])
        raise CannotRead("a bracket is not closed")

    def _first(self):
        if self.text.startswith("(", self.at):
            return _Expression(self._inside()).whole()
        get = _GET.match(self.text, self.at)
        if get is not None:
            self.at = get.end() - 1
            which = self._inside()
            self._blank()
            if self.text.startswith("(", self.at):
                return _got(_Expression(self._inside()).whole(), which)
        name = _NAME.match(self.text, self.at)
        if name is None:
            raise CannotRead("it is not a path of names, members and calls")
        self.at = name.end()
        return gdb.parse_and_eval(name[0])

    def _next(self, value):
        if self.text.startswith("[", self.at):
            return _at(value, _argument(self._inside()))
        member = _MEMBER.match(self.text, self.at)
        if member is None:
            raise CannotRead("it is not a path of names, members and calls")
        self.at = member.end()
        if member["way"] == "->":
            value = _plain(_behind(value))
        if self.text.startswith("(", self.at):
            inside = self._inside()
            return _called(value, member["name"], [_argument(inside)] if inside else [])
        return value[member["name"]]


def _argument(text):
    if text.startswith('"'):
        try:
            return json.loads(text)
        except ValueError:
            raise CannotRead("the key is not a valid string") from None
    try:
        return _plain(gdb.parse_and_eval(text))
    except gdb.error:
        return _Expression(text).whole()


def freezeframe_read_cpp(expression):
    """Return the value of a path of members and calls. Raises CannotRead or gdb.error."""
    return _Expression(expression).whole()
