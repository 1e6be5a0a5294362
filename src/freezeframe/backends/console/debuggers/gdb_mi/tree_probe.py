# mypy: ignore-errors
"""Values as trees, from inside gdb: what a person opens, opened, in one answer for all of them.

A node is a list: name, type, text, expression, count, children. Without children (None) the text
is all there is to say; with them it is empty, or the address of what is pointed to.
"""

import binascii
import itertools
import json
import re

import gdb

import __main__

_GONE = "<optimized out>"
_UNSET = "<not initialised yet>"
_ELEMENTS = 50
_DEEPEST = 4
#: boxes in boxes whose contents are told with a variant or a tuple
_FOLLOWED = 2
#: characters of a text that are shown, and bytes that its end is looked for in
_CHARACTERS, _FAR = 200, 1 << 20
#: of a whole answer; what comes then is told as text
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
        if value.is_optimized_out and (bare.code not in _STRUCTS or depth <= 0):
            leaf[2] = _GONE
            return leaf
        if value.is_optimized_out:
            # Some of it: gdb has the rest.
            children = self._fields(value, bare, expression, ".", depth)
            if not children or all(child[2] == _GONE for child in children):
                leaf[2] = _GONE
                return leaf
            return [name, str(declared), "", expression, None, children]
        if self.rust and bare.code == gdb.TYPE_CODE_STRUCT and depth > 0:
            held = self._trait_object(value, bare)
            if held is not None:
                way = None if expression is None else f"*{self._in(expression)}"
                inner = [self.node("*", held, way, depth - 1)]
                return [name, str(declared), hex(int(value["pointer"])), expression, None, inner]
        printer = gdb.default_visualizer(value)
        children = count = None
        if bare.code == gdb.TYPE_CODE_PTR and printer is None:
            return self._pointer(leaf, value, expression, depth)
        if depth > 0 and self.nodes < _NODES:
            if printer is not None:
                if _SMART.match(str(bare)):
                    held = next(iter(printer.children()))[1]
                    # Not as `element_type`, which is all that the library calls it.
                    behind = held.type.strip_typedefs().target().strip_typedefs()
                    held = held.cast(behind.pointer())
                    return self._pointer(leaf, held, None, depth, expression)
                children, count = self._shown(printer, expression, depth)
            elif bare.code in _STRUCTS:
                children = self._fields(value, bare, expression, ".", depth)
            elif bare.code == gdb.TYPE_CODE_ARRAY:
                children, count = self._elements(value, bare, expression, depth)
        if children is None:
            leaf[2] = self._text(value)
            return leaf
        if len(children) == 1 and children[0][0] in ("_M_elems", "_M_i"):
            # An array or an atomic of the standard library: its only member is what it is.
            return [name, str(declared), *children[0][2:]]
        kind = str(declared)
        if bare.code == gdb.TYPE_CODE_UNION and not self.rust and not kind.startswith("union"):
            kind = f"union {kind}"  # as C calls it: C++ leaves the word out
        return [name, kind, "", expression, count, children]

    def _really(self, value):
        """An object as what it is, not as what it is seen as."""
        real = value.dynamic_type
        if value.address is None or str(real) == str(value.type):
            return value
        return value.address.cast(real.pointer()).dereference()

    def _trait_object(self, value, bare):
        """What a `&dyn Trait` or a box of one holds, as what it is; None for anything else."""
        if {field.name for field in bare.fields()} != {"pointer", "vtable"}:
            return None
        # gdb finds the type by the debug information of the table, in an expression only.
        gdb.set_convenience_variable("freezeframe_dyn", value)
        try:
            held = gdb.parse_and_eval("*$freezeframe_dyn")
            return None if "dyn " in str(held.type) else held
        except gdb.error:
            return None

    def _text(self, value, depth=_FOLLOWED):
        text = value.format_string(max_elements=_CHARACTERS)
        length = self._length(value) if text.endswith('"...') else None
        if self.rust and length is None:
            return self._followed(value, text, depth)
        return text if length is None else f"{text} (length {length})"

    def _followed(self, value, text, depth):
        """The text of a variant or a tuple, with what the boxes and references in it lead to."""
        if depth <= 0 or value.type.strip_typedefs().code not in _STRUCTS or "0x" not in text:
            return text
        for pointer in self._pointers(value, _DEEPEST):
            behind = pointer.type.strip_typedefs().target().strip_typedefs()
            address = re.compile(rf"{int(pointer):#x}\b(?! ->)")
            if behind.sizeof == 0 or not address.search(text):
                continue
            try:
                told = self._text(pointer.dereference(), depth - 1)
            except gdb.error:
                continue
            text = address.sub(lambda found, told=told: f"{found[0]} -> {told}", text, count=1)
        return text

    def _pointers(self, value, depth, in_variant=False):
        """The boxes and references of a variant or a tuple; gdb tells no raw pointer from them.

        Those of other structs may be raw, and point behind the last element, as an iterator's do.
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
                    yield from self._pointers(value[field], depth - 1, is_variant)

    def _length(self, value):
        """How long a text is that is not shown as a whole; None where that cannot be told."""
        bare = value.type.strip_typedefs()
        if bare.code == gdb.TYPE_CODE_ARRAY:
            low, high = bare.range()
            return high - low + 1
        if bare.code == gdb.TYPE_CODE_PTR:
            size = bare.target().sizeof
            where = gdb.selected_inferior().search_memory(int(value), _FAR, b"\0" * size)
            return None if where is None else (where - int(value)) // size
        printer = gdb.default_visualizer(value)
        said = printer.to_string() if hasattr(printer, "to_string") else None
        length = getattr(said, "length", None)
        return length if isinstance(length, int) and length >= 0 else None

    def _pointer(self, leaf, value, expression, depth, through=None):
        """A pointer; *through* is the smart pointer that holds it."""
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
        # It points to what is in no memory, but gdb knows its parts.
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
            mark = "." if self.rust else "->"
            children = self._fields(inner, kind, way, mark, depth - 1)
            if children:
                shown = leaf[1] if self.rust else f"{kind} *"
                return [leaf[0], shown, leaf[2], leaf[3], None, children]
        told = self.node("*", inner, None if way is None else f"*{self._in(way)}", depth - 1)
        if told[5] is None:
            leaf[2] += " -> " + told[2]
            return leaf
        return [leaf[0], leaf[1], leaf[2], leaf[3], None, [told]]

    def _in(self, expression):
        return expression if _PLAIN.fullmatch(expression) else f"({expression})"

    def _fields(self, value, bare, expression, mark, depth):
        fields = bare.fields()
        if self.rust and not self._is_plain(bare, fields):
            return None
        found = []
        for field in fields:
            if field.artificial or not hasattr(field, "bitpos"):
                continue
            if (field.name or "").startswith("_vptr"):
                continue
            way = None if expression is None else f"{self._in(expression)}{mark}{field.name}"
            if field.is_base_class or not field.name:
                # Members of a base, or of what has no name, are its own.
                inner = value[field]
                if inner.type.strip_typedefs().code in _STRUCTS:
                    if gdb.default_visualizer(inner) is not None:
                        found.append(self.node(field.name or "", inner, None, depth - 1))
                        continue
                    more = self._fields(inner, inner.type.strip_typedefs(), expression, mark, depth)
                    found += more or []
                continue
            found.append(self.node(field.name, value[field], way, depth - 1))
        return found or None

    def _is_plain(self, bare, fields):
        """Whether a type is a struct of the user's, not a variant, a tuple or part of std."""
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
        found = []
        for index in range(low, min(high + 1, low + _ELEMENTS)):
            way = None if expression is None else f"{self._in(expression)}[{index}]"
            found.append(self.node(f"[{index}]", value[index], way, depth - 1))
            if self.nodes >= _NODES:
                break
        return found, high - low + 1

    def _shown(self, printer, expression, depth):
        hint = printer.display_hint() if hasattr(printer, "display_hint") else None
        if hint not in ("array", "map") or not hasattr(printer, "children"):
            return None, None
        said = printer.to_string() if hasattr(printer, "to_string") else ""
        size = _SIZE.search(str(said))
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
                child.fetch_lazy()  # where that cannot be read, nothing of it can
            if expression is not None and str(said).startswith(("std::vector", "std::deque")):
                way = f"{self._in(expression)}[{len(found)}]"
            found.append(self.node(f"[{len(found)}]", child, way, depth - 1))
        count = int(size[1]) if size else len(found)
        return (found, count) if found else (None, None)


def _is_unset(symbol, frame, place):
    """Whether the program has not yet come to where a variable of it is initialised.

    Told of code that runs line by line only: the frame stands before the line of the declaration,
    or at the first instruction of that.
    """
    if symbol.is_argument or symbol.symtab is None or place.symtab is None:
        return False
    if (
        symbol.addr_class == gdb.SYMBOL_LOC_STATIC
        or symbol.symtab.filename != place.symtab.filename
    ):
        return False
    if not symbol.line or __main__.freezeframe_is_optimized(place.symtab) is not False:
        return False
    if symbol.line > place.line:
        return True
    if frame.level() > 0:
        return _is_being_set(symbol, frame, place)
    if symbol.line < place.line:
        return False
    table = place.symtab.linetable().line(symbol.line) or ()
    function = frame.function()
    if function is None:
        return False
    return frame.pc() == min(
        (entry.pc for entry in table if entry.pc >= function.value().address), default=None
    )


#: lines of a declaration that are read
_LONG = 20
#: what is no part of a statement, and what a text or a character may hold
_ASIDE = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])+'")
_NO_TYPE = re.compile(r"\s*(?:for|while|if|switch|return|else|case|do|static|using)\b")


def _is_being_set(symbol, frame, place):
    """Whether a call that a frame waits for is made to initialise a variable of it.

    So it is where all that was written from the declaration to the call is one statement of
    one variable. Destructors run when that is done.
    """
    callee = frame.newer()
    if place.line - symbol.line >= _LONG or callee is None or "~" in (callee.name() or "~"):
        return False
    if frame.type() != gdb.NORMAL_FRAME or callee.type() != gdb.NORMAL_FRAME:
        return False
    try:
        with open(symbol.symtab.fullname(), encoding="utf-8", errors="replace") as source:
            lines = list(itertools.islice(source, symbol.line - 1, place.line))
    except OSError:
        return False
    text = _QUOTED.sub("0", _ASIDE.sub(" ", "".join(lines))).strip().removesuffix(";")
    found = re.match(r"[\w:<>,&*\s]+[\s&*>]" + re.escape(symbol.name) + r"\b", text)
    if found is None or _NO_TYPE.match(text) or ";" in text:
        return False
    # A comma outside of brackets begins another variable.
    inner = text[found.end() :]
    while inner != (inner := re.sub(r"\([^()]*\)|\[[^\[\]]*\]|\{[^{}]*\}", "", inner)):
        pass
    return re.search(r"[,)\]}]", re.split(r"[(\[{]", inner)[0]) is None


def _tell(what):
    # MI writes what it must escape piece by piece, and each piece would wake up whoever reads it.
    gdb.write(binascii.b2a_base64(json.dumps(what).encode("utf-8")).decode("ascii"))


def freezeframe_trees(packed):
    """Tell the node of each expression, or null where it has no value."""
    spec = json.loads(bytes.fromhex(packed).decode("utf-8"))
    tree = FreezeframeTree(spec["rust"])
    told = []
    for expression in spec["expressions"]:
        try:
            value = gdb.parse_and_eval(expression)
            if value.type.strip_typedefs().code in _STRUCTS:
                value = tree._really(value)
            told.append(tree.node(expression, value, expression, _DEEPEST))
        except gdb.error:
            told.append(None)
    _tell(told)


def freezeframe_variables(packed):
    """Tell of each variable of the frame's function whether it is an argument, line and node."""
    spec = json.loads(bytes.fromhex(packed).decode("utf-8"))
    tree = FreezeframeTree(spec["rust"])
    frame = gdb.selected_frame()
    try:
        block = frame.block()
    except RuntimeError:
        return  # code without debug information
    told, seen, place = [], set(), frame.find_sal()
    while block is not None:
        for symbol in block:
            name = symbol.print_name
            # Inner blocks come first: a name that comes again is shadowed.
            if name in seen or not (symbol.is_variable or symbol.is_argument):
                continue
            seen.add(name)
            if _is_unset(symbol, frame, place):
                node = [name, str(symbol.type), _UNSET, name, None, None]
            else:
                node = tree.variable(symbol, frame)
            told.append([symbol.is_argument, symbol.line, node])
        if block.function is not None:
            break
        block = block.superblock
    _tell(told)
