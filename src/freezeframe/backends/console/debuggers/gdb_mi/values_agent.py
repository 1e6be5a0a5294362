# mypy: ignore-errors
"""Value trees inside gdb: variables with their children, expanded, in one answer.

A node is a list: name, type, text, expression, count, children. Without children (None) the text
is the whole value; with children it is empty, or the address that a pointer holds.
"""

import binascii
import json
import re

import gdb

import __main__

_GONE = "<optimized out>"
_UNSET = "<not initialised yet>"
_ELEMENTS = 50
_DEEPEST = 4
#: characters of a string to show, and bytes to search for its end
_CHARACTERS, _FAR = 200, 1 << 20
#: maximum nodes of an answer; further values are sent as text
_NODES = 1500
_SMART = re.compile(r"std::(__\w+::)?(unique|shared)_ptr<")
_INNER_RUST = re.compile(r"(core|alloc|std|hashbrown)::")
_SIZE = re.compile(r"(?:length |size=|with )(\d+)")
_PLAIN = re.compile(r"[\w:$]+((\.|->)\w+|\[\d+\])*")
_WIDE = ("wchar_t", "char8_t", "char16_t", "char32_t")
_STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
_REFERENCES = (gdb.TYPE_CODE_REF, getattr(gdb, "TYPE_CODE_RVALUE_REF", gdb.TYPE_CODE_REF))


class FreezeframeTree:
    def __init__(self, rust):
        self.rust = rust
        self.nodes = 0

    def variable(self, symbol, frame):
        name = symbol.print_name
        if symbol.addr_class == gdb.SYMBOL_LOC_OPTIMIZED_OUT:
            return [name, str(symbol.type), _GONE, None, None, None]
        try:
            value = symbol.value(frame)
        except gdb.error as error:
            return [name, None, "<error: " + str(error).strip() + ">", name, None, None]
        return self.node(name, value, name, _DEEPEST)

    def node(self, name, value, expression, depth):
        self.nodes += 1
        try:
            return self._node(name, value, expression, depth)
        except (gdb.error, RuntimeError, ValueError, TypeError, AttributeError) as error:
            return [name, None, "<error: " + str(error).strip() + ">", expression, None, None]

    def _node(self, name, value, expression, depth):
        declared = value.type
        if declared.strip_typedefs().code in _REFERENCES:
            value = self._really(value.referenced_value())
        bare = value.type.strip_typedefs()
        leaf = [name, str(declared), None, expression, None, None]
        if value.is_optimized_out:
            # Of an object that is partly optimised out gdb has the other fields.
            whole = bare.code not in _STRUCTS or depth <= 0
            children = () if whole else self._fields(value, bare, expression, ".", depth)
            if all(child[2] == _GONE for child in children):
                leaf[2] = _GONE
                return leaf
            return [name, str(declared), "", expression, None, children]
        if self.rust and bare.code == gdb.TYPE_CODE_STRUCT and depth > 0:
            names = {field.name for field in bare.fields()}
            dynamic = names == {"pointer", "vtable"}
            held = __main__.freezeframe_rust_concrete(value) if dynamic else None
            if held is not None:
                way = None if expression is None else f"*{self._parenthesized(expression)}"
                inner = [self.node("*", held, way, depth - 1)]
                return [name, str(declared), hex(int(value["pointer"])), expression, None, inner]
        printer = gdb.default_visualizer(value)
        if bare.code == gdb.TYPE_CODE_PTR and printer is None:
            return self._pointer(leaf, value, expression, depth)
        children = count = None
        if depth > 0 and self.nodes < _NODES:
            if printer is not None and _SMART.match(str(bare)):
                held = next(iter(printer.children()))[1]
                # The library's name for the type is only `element_type`.
                behind = held.type.strip_typedefs().target().strip_typedefs()
                held = held.cast(behind.pointer())
                return self._pointer(leaf, held, None, depth, expression)
            children, count = self._children(value, bare, printer, expression, depth)
        if children is None:
            leaf[2] = self._text(value)
            return leaf
        if len(children) == 1 and children[0][0] in ("_M_elems", "_M_i"):
            # std::array or std::atomic: its only member is the value.
            return [name, str(declared), *children[0][2:]]
        kind = str(declared)
        if bare.code == gdb.TYPE_CODE_UNION and not self.rust and not kind.startswith("union"):
            kind = f"union {kind}"  # as in C: gdb omits the keyword for C++
        return [name, kind, "", expression, count, children]

    def _children(self, value, bare, printer, expression, depth):
        """Return the children of a value, and their number if known; None if it has none."""
        if printer is not None:
            return self._printer_children(printer, expression, depth)
        if bare.code in _STRUCTS:
            return self._fields(value, bare, expression, ".", depth), None
        if bare.code == gdb.TYPE_CODE_ARRAY:
            return self._elements(value, bare, expression, depth)
        return None, None

    def _really(self, value):
        """Return an object as its dynamic type."""
        real = value.dynamic_type
        if value.address is None or str(real) == str(value.type):
            return value
        return value.address.cast(real.pointer()).dereference()

    def _text(self, value):
        if not self.rust and (data := _bytes_beyond_text(value)) is not None:
            return data
        text = value.format_string(max_elements=_CHARACTERS)
        length = self._length(value) if text.endswith('"...') else None
        if self.rust and length is None:
            return __main__.freezeframe_rust_text(value, _CHARACTERS)
        return text if length is None else f"{text} (length {length})"

    def _length(self, value):
        """Return the length of a truncated string; None if unknown."""
        bare = value.type.strip_typedefs()
        if bare.code == gdb.TYPE_CODE_ARRAY:
            low, high = bare.range()
            return high - low + 1
        if bare.code == gdb.TYPE_CODE_PTR:
            size = bare.target().sizeof
            where = gdb.selected_inferior().search_memory(int(value), _FAR, b"\0" * size)
            return None if where is None else (where - int(value)) // size
        printer = gdb.default_visualizer(value)
        text = printer.to_string() if hasattr(printer, "to_string") else None
        length = getattr(text, "length", None)
        return length if isinstance(length, int) and length >= 0 else None

    def _pointer(self, leaf, value, expression, depth, through=None):
        """Return a pointer's node; *through* is the smart pointer that holds it."""
        bare = value.type.strip_typedefs()
        behind = bare.target().strip_typedefs() if bare.code == gdb.TYPE_CODE_PTR else None
        if behind is None or behind.code in (gdb.TYPE_CODE_VOID, gdb.TYPE_CODE_FUNC):
            leaf[2] = self._text(value)
            return leaf
        if (behind.code == gdb.TYPE_CODE_INT and behind.sizeof == 1) or (
            not self.rust and str(behind.unqualified()) in _WIDE
        ):
            leaf[2] = self._text(value)
            return leaf
        address = int(value) & ((1 << 64) - 1)
        leaf[2] = hex(address)
        # The target is not in memory, but gdb knows its parts.
        synthetic = not address and "synthetic pointer" in self._text(value)
        if synthetic:
            leaf[2] = "<synthetic pointer>"
        if (not address and not synthetic) or depth <= 0:
            return leaf
        inner = (
            self._really(value.dereference()) if behind.code in _STRUCTS else value.dereference()
        )
        try:
            inner.fetch_lazy()
        except gdb.MemoryError:
            return leaf
        way = through if through is not None else expression
        kind = inner.type.strip_typedefs()
        printed = gdb.default_visualizer(inner) is not None
        if kind.code in _STRUCTS and not printed and through is None:
            operator = "." if self.rust else "->"
            children = self._fields(inner, kind, way, operator, depth - 1)
            if children:
                shown = leaf[1] if self.rust else f"{kind} *"
                return [leaf[0], shown, leaf[2], leaf[3], None, children]
        node = self.node(
            "*", inner, None if way is None else f"*{self._parenthesized(way)}", depth - 1
        )
        if node[5] is None:
            leaf[2] += " -> " + node[2]
            return leaf
        return [leaf[0], leaf[1], leaf[2], leaf[3], None, [node]]

    def _parenthesized(self, expression):
        return expression if _PLAIN.fullmatch(expression) else f"({expression})"

    def _fields(self, value, bare, expression, operator, depth):
        fields = bare.fields()
        if self.rust and not self._is_plain(bare, fields):
            return None
        found = []
        for field in fields:
            if field.artificial or not hasattr(field, "bitpos"):
                continue
            if (field.name or "").startswith("_vptr"):
                continue
            way = (
                None
                if expression is None
                else f"{self._parenthesized(expression)}{operator}{field.name}"
            )
            if field.is_base_class or not field.name:
                # Show members of a base class or an anonymous member as members of the object.
                inner = value[field]
                if inner.type.strip_typedefs().code in _STRUCTS:
                    if gdb.default_visualizer(inner) is not None:
                        found.append(self.node(field.name or "", inner, None, depth - 1))
                        continue
                    more = self._fields(
                        inner, inner.type.strip_typedefs(), expression, operator, depth
                    )
                    found += more or []
                continue
            found.append(self.node(field.name, value[field], way, depth - 1))
        return found or None

    def _is_plain(self, bare, fields):
        """Whether a type is a user-defined struct, not a variant, a tuple or part of std."""
        if _INNER_RUST.match(str(bare)):
            return False
        return all(
            field.name
            and not field.artificial
            and not field.name.startswith("__")
            and not field.name[0].isupper()
            for field in fields
        )

    def _elements(self, value, bare, expression, depth):
        target = bare.target().strip_typedefs()
        low, high = bare.range()
        if target.code == gdb.TYPE_CODE_CHAR or (
            target.code == gdb.TYPE_CODE_INT and target.sizeof == 1 and not self.rust
        ):
            return None, None
        if not self.rust and str(bare.target().unqualified()) in _WIDE:
            return None, None
        found = []
        for index in range(low, min(high + 1, low + _ELEMENTS)):
            way = None if expression is None else f"{self._parenthesized(expression)}[{index}]"
            found.append(self.node(f"[{index}]", value[index], way, depth - 1))
            if self.nodes >= _NODES:
                break
        return found, high - low + 1

    def _printer_children(self, printer, expression, depth):
        hint = printer.display_hint() if hasattr(printer, "display_hint") else None
        if hint not in ("array", "map") or not hasattr(printer, "children"):
            return None, None
        text = printer.to_string() if hasattr(printer, "to_string") else ""
        size = _SIZE.search(str(text))
        found, keys = [], []
        for _, child in printer.children():
            if len(found) >= _ELEMENTS or self.nodes >= _NODES:
                break
            if not isinstance(child, gdb.Value):
                child = gdb.Value(child)
            if hint == "map":
                keys.append(self.node("", child, None, depth - 1))
                if len(keys) == 2:
                    keys[0][0], keys[1][0] = "first", "second"
                    found.append([f"[{len(found)}]", None, "", None, None, keys])
                    keys = []
                continue
            way = None
            if not found:
                child.fetch_lazy()  # raises if the container is unreadable
            if expression is not None and str(text).startswith(("std::vector", "std::deque")):
                way = f"{self._parenthesized(expression)}[{len(found)}]"
            found.append(self.node(f"[{len(found)}]", child, way, depth - 1))
        count = int(size[1]) if size else len(found)
        return (found, count) if found else (None, None)


#: elements of arrays that may hold bytes, not text
_BYTES = ("unsigned char", "signed char")


def _bytes_beyond_text(value):
    """Return an array of bytes with all of them; None for a text that ends at its first NUL."""
    bare = value.type.strip_typedefs()
    if bare.code != gdb.TYPE_CODE_ARRAY or bare.sizeof > _CHARACTERS or value.address is None:
        return None
    if bare.target().strip_typedefs().unqualified().name not in _BYTES:
        return None
    data = gdb.selected_inferior().read_memory(int(value.address), bare.sizeof).tobytes()
    if not any(data.partition(b"\0")[2]):
        return None
    known = {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 92: "\\\\"}
    shown = (known.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in data)
    return '"' + "".join(shown) + '"'


def _print(what):
    # MI splits text that needs escapes into pieces, and each piece would wake the reader.
    gdb.write(binascii.b2a_base64(json.dumps(what).encode("utf-8")).decode("ascii"))


def freezeframe_trees(packed):
    """Print the node of each expression, or null if it has no value."""
    spec = json.loads(bytes.fromhex(packed).decode("utf-8"))
    tree = FreezeframeTree(spec["rust"])
    nodes = []
    for expression in spec["expressions"]:
        try:
            value = gdb.parse_and_eval(expression)
            if value.type.strip_typedefs().code in _STRUCTS:
                value = tree._really(value)
            nodes.append(tree.node(expression, value, expression, _DEEPEST))
        except gdb.error:
            nodes.append(None)
    _print(nodes)


def freezeframe_variables(packed):
    """Print for each variable of the frame's function whether it is an argument, line and node."""
    spec = json.loads(bytes.fromhex(packed).decode("utf-8"))
    tree = FreezeframeTree(spec["rust"])
    frame = gdb.selected_frame()
    try:
        block = frame.block()
    except RuntimeError:
        return  # no debug information
    variables, seen, sal = [], set(), frame.find_sal()
    while block is not None:
        for symbol in block:
            name = symbol.print_name
            # Inner blocks come first: a repeated name is shadowed.
            if name in seen or not (symbol.is_variable or symbol.is_argument):
                continue
            seen.add(name)
            if __main__.freezeframe_is_unset(symbol, frame, sal):
                node = [name, str(symbol.type), _UNSET, name, None, None]
            else:
                node = tree.variable(symbol, frame)
            variables.append([symbol.is_argument, symbol.line, node])
        if block.function is not None:
            break
        block = block.superblock
    _print(variables)
