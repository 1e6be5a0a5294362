# mypy: ignore-errors
"""Runs inside gdb: expressions and conditions with operands that gdb's evaluator refuses.

`v.size() > 3 && name == "bob"`: gdb cannot call functions that are inlined or were never compiled,
nor compare strings of the standard libraries. Operators are applied here; operands are read from
memory by the agent of the language, and by gdb where that agent does not know them.
"""

import json
import operator
import re

import gdb

import __main__

#: binary operators by precedence, and those that languages rank differently
_LEVELS = (("||",), ("&&",), ("==", "!=", "<=", ">=", "<", ">"), ("+", "-"), ("*", "/", "%"))
_SUPPORTED = tuple(each for level in _LEVELS for each in level)
_OTHERS = ("<<", ">>", "&", "|", "^", "?", "=", ",", "+=", "-=", "*=", "/=", "%=")
_ANY = sorted(("->", *_SUPPORTED, *_OTHERS), key=len, reverse=True)
_APPLIED = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "%": operator.mod,
}
_COMPARING = _LEVELS[2]
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\[^\']+|[^\'\\])\'')
#: template arguments before a call or a scope: written without spaces, unlike a comparison
_TEMPLATE = re.compile(r"(?<=\w)<[\w:, ]*(?:<[\w:, ]*>)?[*& ]*>(?=\(|::)")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_CALL = re.compile(r"[\w>\]]\s*\(")
_LANGUAGES = {"rust": "freezeframe_read_rust", "c++": "freezeframe_read_cpp"}
#: the readers' message for an operand that is not in their syntax
_NO_PATH = "it is not a path of names"
#: gdb's message for a method that does not exist
_NO_METHOD = "no member or method named"


#: a variant of a Rust enum: `None`, `Kind::Big(3)`
_VARIANT = re.compile(r"(?:\w+::)*[A-Z]\w*[a-z]\w*(?:\(.*\))?|(?:\w+::)+[A-Z]\w*(?:\(.*\))?")
#: one to an element: to gdb its place is that of C
_ASSIGNMENT = re.compile(r"(?P<target>[^=]*\[[^=]+?)\s*(?P<sign>[-+*/%]?=)(?!=)\s*(?P<value>.+)")
#: pointers to follow to a string
_DEEPEST = 4
_REFUSED = (gdb.error, RuntimeError, TypeError, ValueError, KeyError, AttributeError)


class NotParsed(ValueError):
    pass


class _Variant:
    """A variant of an enum, which can only be compared with."""

    def __init__(self, text):
        self.text = text


def _operators(text):
    """Return position and text of the binary operators outside brackets and strings."""
    found, closing, position, before = [], [], 0, ""
    while position < len(text):
        atom = _QUOTED.match(text, position) or _TEMPLATE.match(text, position)
        if atom is not None:
            position, before = atom.end(), '"'
            continue
        here = text[position]
        if here in _CLOSING:
            closing.append(_CLOSING[here])
        elif closing and here == closing[-1]:
            closing.pop()
        elif not closing:
            sign = next((each for each in _ANY if text.startswith(each, position)), None)
            if sign is not None:
                if sign != "->" and re.fullmatch(r"[\w)\]\"]", before):
                    found.append((position, sign))
                position, before = position + len(sign), sign[-1]
                continue
        if not here.isspace():
            before = here
        position += 1
    if closing:
        raise NotParsed("a bracket is not closed")
    return found


def _is_enclosed(text):
    """Whether one pair of parentheses encloses the whole text."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth, position = 0, 0
    while position < len(text):
        quoted = _QUOTED.match(text, position)
        if quoted is not None:
            position = quoted.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 1
        if depth == 0:
            return position == len(text)
    return False


def _parse(text):
    """Return a tree: an operand's text, or an operator and its trees. Raises NotParsed."""
    text = text.strip()
    if not text:
        raise NotParsed("an operand is missing")
    found = _operators(text)
    if any(sign not in _SUPPORTED for _, sign in found):
        raise NotParsed("an operator is not supported")
    for level in _LEVELS:
        at = [(position, sign) for position, sign in found if sign in level]
        if at:
            position, sign = at[-1]
            return sign, _parse(text[:position]), _parse(text[position + len(sign) :])
    if text.startswith("!"):
        return "!", _parse(text[1:])
    return _parse(text[1:-1]) if _is_enclosed(text) else text


def freezeframe_characters(value):
    """Return the characters of a string literal or a string of a standard library, also behind
    Rust's pointers; None for any other value."""
    for _ in range(_DEEPEST):
        if not isinstance(value, gdb.Value):
            break
        printer = gdb.default_visualizer(value)
        if getattr(printer, "display_hint", lambda: None)() == "string":
            value = printer.to_string()
        elif gdb.current_language() == "rust":
            value = __main__.freezeframe_rust_behind(value)
        else:
            return None
    if not hasattr(value, "address") or isinstance(value, gdb.Value):
        return value if isinstance(value, str) else None
    if value.length < 0 or value.type.strip_typedefs().target().sizeof != 1:
        return None
    size = value.length
    held = gdb.selected_inferior().read_memory(value.address, size) if size else b""
    return bytes(held).decode("utf-8", "replace")


def _is_variant(value, variant):
    """Whether a value of Rust is a variant, as gdb writes both."""
    text = value.format_string()
    head = re.match(r"[^({]*", text)[0].rstrip()
    name, held = re.fullmatch(r"([^(]*)(\(.*)?", variant).groups()
    if not head.endswith(f"::{name.rpartition('::')[2]}"):
        return False
    rest = text[len(head) :]
    if held is not None and "0x" in rest:
        raise ValueError("what it holds cannot be compared")
    return held is None or held.replace(" ", "") == rest.replace(" ", "")


def _is_pointer(value):
    is_rust = isinstance(value, gdb.Value) and gdb.current_language() == "rust"
    return is_rust and value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR


def _followed(value):
    """Return what the operators of Rust take for a value: the target of a reference."""
    for _ in range(_DEEPEST):
        if not _is_pointer(value):
            break
        value = value.dereference()
    return value


def _compared(sign, left, right):
    """Compare two pointers of Rust: gdb does not tell references, whose targets are compared, from
    raw pointers. Raises ValueError where that matters."""
    compare = _APPLIED[sign]
    by_target = bool(compare(_followed(left), _followed(right)))
    if sign in ("==", "!=") and by_target != bool(compare(left, right)):
        raise ValueError("to gdb references and raw pointers are alike: write * to compare targets")
    return gdb.Value(by_target)


def _applied(sign, left, right):
    if isinstance(right, _Variant) and sign in ("==", "!="):
        return gdb.Value(_is_variant(_followed(left), right.text) is (sign == "=="))
    texts = freezeframe_characters(left), freezeframe_characters(right)
    if sign in _COMPARING and None not in texts:
        return gdb.Value(_APPLIED[sign](*texts))
    if sign in _COMPARING and _is_pointer(left) and _is_pointer(right):
        return _compared(sign, left, right)
    left, right = _followed(left), _followed(right)
    if isinstance(left, str) or isinstance(right, str):
        other = right if isinstance(left, str) else left
        kind = "a string" if isinstance(other, str) else other.type
        raise ValueError(f"{sign} does not take a string and {kind}")
    return gdb.Value(_APPLIED[sign](left, right))


def _is_rust(read):
    return read is vars(__main__)[_LANGUAGES["rust"]]


def _operand(text, read):
    if text.startswith('"'):
        return json.loads(text)
    if _is_rust(read) and _VARIANT.fullmatch(text):
        return _Variant(text)
    if _is_rust(read) and "[" in text:
        return read(text)  # to gdb an index after a reference is one after a pointer of C
    ways = (read, gdb.parse_and_eval) if _CALL.search(text) else (gdb.parse_and_eval, read)
    refusals = []
    for way in ways:
        try:
            return way(text)
        except _REFUSED as error:
            # A reader knows better why not, unless the operand is not in its syntax.
            message = str(error)
            rank = (1, 3)[_NO_PATH in message] if way is read else (2, 0)[_NO_METHOD in message]
            refusals.append((rank, error))
    raise min(refusals, key=lambda each: each[0])[1]


def _evaluate(tree, read):
    if isinstance(tree, str):
        return _operand(tree, read)
    sign, *trees = tree
    first = _evaluate(trees[0], read)
    if sign == "!":
        return gdb.Value(not _followed(first))
    if sign in ("&&", "||"):
        is_decided = bool(_followed(first)) is (sign == "||")
        return gdb.Value(bool(_followed(first if is_decided else _evaluate(trees[1], read))))
    return _applied(sign, first, _evaluate(trees[1], read))


def _tree(expression):
    """Return the expression's tree and the reader of its operands; None where gdb is to evaluate
    the whole expression."""
    reader = vars(__main__).get(_LANGUAGES.get(gdb.current_language(), ""))
    try:
        tree = None if reader is None else _parse(expression)
    except NotParsed:
        return None
    return None if tree is None or _QUOTED.fullmatch(str(tree)) else (tree, reader)


def _value(tree, read):
    value = _evaluate(tree, read)
    if isinstance(value, _Variant):
        return gdb.parse_and_eval(value.text)
    return value if isinstance(value, gdb.Value) else value.value()


def _assigned(expression):
    """Assign to an element of Rust and return its new value; None if it is no such assignment."""
    parts = _ASSIGNMENT.fullmatch(expression.strip())
    if parts is None or gdb.current_language() != "rust":
        return None
    sign, value = parts["sign"], freezeframe_evaluate(parts["value"])
    gdb.set_convenience_variable("freezeframe_assigned", value)
    lvalue = _lvalue(parts["target"])
    gdb.parse_and_eval(f"{lvalue} {sign} $freezeframe_assigned")
    return gdb.parse_and_eval(lvalue)


def freezeframe_print_lvalue(packed):
    try:
        gdb.write(_lvalue(bytes.fromhex(packed).decode("utf-8")) + "\n")
    except _REFUSED as error:
        raise gdb.GdbError(str(error).strip()) from None


def _lvalue(expression):
    """Return an expression of gdb for the memory of a value of Rust. Raises as `evaluate` does."""
    value = freezeframe_evaluate(expression)
    if value.address is None:
        raise ValueError(f"{expression} is not in memory")
    return f"*({int(value.address):#x} as *mut {value.type})"


def freezeframe_evaluate(expression):
    """Return the value of an expression. Raises gdb.error, or another of *_REFUSED*."""
    tree = _tree(expression)
    if tree is not None:
        return _value(*tree)
    value = _assigned(expression)
    return gdb.parse_and_eval(expression) if value is None else value


def freezeframe_put(name, packed):
    """Put the value of an expression into a convenience variable, or print why not: because of an
    error, or because gdb is to evaluate it."""
    expression = bytes.fromhex(packed).decode("utf-8")
    tree = _tree(expression)
    try:
        value = _assigned(expression) if tree is None else _value(*tree)
        if value is None:
            gdb.write("freezeframe native\n")
            return
        gdb.set_convenience_variable(name, value)
        gdb.write("freezeframe ok\n")
    except _REFUSED as error:
        gdb.write(f"freezeframe no {str(error).strip() or type(error).__name__}\n")


def freezeframe_unwind():
    """Pop the frames of a function that an expression called and a breakpoint stopped.

    gdb leaves the program inside of it. Popping the called function pops the call's frame too.
    """
    frame, called = gdb.newest_frame(), None
    while frame is not None and frame.type() != gdb.DUMMY_FRAME:
        frame, called = frame.older(), frame
    if frame is not None and called is not None:
        called.select()
        gdb.execute("return", to_string=True)


def freezeframe_logged(expression):
    """Return the text of an expression's value, or of its error, for a logpoint."""
    try:
        value = _followed(freezeframe_evaluate(expression))
        text = str(value.format_string(max_elements=200))
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR and '"' in text:
            # For a string show the text, not the address.
            text = text[text.index('"') :]
        return text
    except Exception as error:
        return "<" + str(error).strip() + ">"


class _Holds(gdb.Function):
    """`$_freezeframe_holds(1, 2, …)`: whether a breakpoint's condition holds.

    The numbers are its text, three bytes each: some languages store strings in the program.
    """

    def __init__(self):
        self.name = "_freezeframe_holds"
        super().__init__(self.name)
        #: why the last condition could not be evaluated
        self.failure = None

    def invoke(self, *packed):
        self.failure = None
        text = b"".join(int(each).to_bytes(3, "big") for each in packed).strip(b"\0")
        try:
            return bool(_followed(freezeframe_evaluate(text.decode("utf-8"))))
        except _REFUSED as error:
            self.failure = str(error).strip()
            raise gdb.GdbError(self.failure) from None


_holds = _Holds()


def freezeframe_failure(condition):
    """Return why the condition of a breakpoint that just stopped the program cannot be evaluated;
    None if it can."""
    if f"${_holds.name}(" in condition:
        failure, _holds.failure = _holds.failure, None
        return failure
    try:
        gdb.parse_and_eval(condition)
    except gdb.error as error:
        return str(error).strip()
    return None
