"""Runs inside LLDB: evaluates expressions of Rust, and those of C++ that LLDB cannot.

LLDB takes Rust for C++, and can call only those functions of templates that the program uses.
Fields, elements, entries and lengths, targets of Rc, Arc, Box and references, variants, operators.
Only memory is read: no function of the program is called, so `lock()` and `borrow()` take nothing.
"""

import json
import operator
import re
from collections.abc import Callable
from typing import Any

import lldb  # type: ignore[import-not-found]

COMMAND = "freezeframe-expression"
_TOKEN = re.compile(
    r"\s*(?P<token>0x[0-9a-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*(?!\w))?|[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*"
    r"|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)'|->|==|!=|<=|>=|&&|\|\||[-+*/%<>!&.\[\]()])"
)
_SUFFIX = re.compile(r"(?<=\d)(?:_?[iu](?:8|16|32|64|128|size)|_?f(?:32|64))\b")
_OPERATORS: tuple[dict[str, Callable[[Any, Any], Any]], ...] = (
    {"||": lambda a, b: a or b},
    {"&&": lambda a, b: a and b},
    {
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    },
    {"+": operator.add, "-": operator.sub},
    {"*": operator.mul, "/": lambda a, b: _divided(a, b), "%": lambda a, b: _rest(a, b)},
)
_VARIANTS = {"is_some": "Some", "is_none": "None", "is_ok": "Ok", "is_err": "Err"}
#: calls that return the value, or a view of it
_VIEWS = frozenset(
    {"as_ref", "as_mut", "as_str", "as_slice", "as_deref", "borrow", "lock", "read"}
    | {"clone", "iter", "to_string", "deref", "get", "c_str", "data", "str"}
)
_SIZE = re.compile(r"(?:0x[0-9a-f]+ )?size=(\d+)")
_UNWRAPPED = re.compile(r"core::(?:option::Option|result::Result)<")
_OPTIONAL = re.compile(r"std::(?:__\w+::)?optional<")
_MAP = re.compile(r"(?:Hash|BTree)Map<|^std::(?:__\w+::)*(?:unordered_)?map<")
_SET = re.compile(r"(?:Hash|BTree)Set<|^std::(?:__\w+::)*(?:unordered_)?(?:multi)?set<")
_FLOATS = (lldb.eBasicTypeFloat, lldb.eBasicTypeDouble)
#: maximum pointers to follow for a field, and entries to search for a key
_DEEPEST, _MOST = 8, 20_000


class NotEvaluated(ValueError):
    """The expression has no value here; the message says why."""


class NotSupported(ValueError):
    """The expression is not one of those that are evaluated here."""


class Variant(str):
    """The name of an enum's variant."""


def _divided(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _rest(left: Any, right: Any) -> Any:
    return left - right * _divided(left, right)


# --- values -------------------------------------------------------------------------------------


def _text(value: Any) -> str:
    return str(value.GetSummary() or value.GetValue() or "")


def _child(value: Any, name: str) -> Any:
    """Return a child by its name, or None. Some formatters return one for any name."""
    found = value.GetChildMemberWithName(name)
    is_it = found.IsValid() and found.GetError().Success() and found.GetName() == name
    return found if is_it else None


def _behind(value: Any) -> Any:
    """Return the target of a pointer, or the value in an Rc, a Box, a cell or a lock; else None."""
    if value.GetType().IsPointerType() or value.GetType().IsReferenceType():
        return value.Dereference()
    pointer = _child(value, "pointer")
    if pointer is not None and "_ptr<" in (value.GetTypeName() or ""):
        return pointer.Dereference()
    if value.GetNumChildren(2) == 1 and value.GetChildAtIndex(0).GetName() in ("value", "*"):
        return value.GetChildAtIndex(0)
    return _child(value.GetNonSyntheticValue(), "lock")


def _levels(value: Any) -> Any:
    """Generate a value, and what is behind it."""
    for _ in range(_DEEPEST):
        if value is None or not value.IsValid():
            return
        yield value
        value = _behind(value)


def _member(value: Any, name: str) -> Any:
    for each in _levels(value):
        for shape in (each, each.GetNonSyntheticValue()):
            for field in (name, f"__{name}") if name.isdigit() else (name,):
                found = _child(shape, field)
                if found is not None:
                    return found
    raise NotEvaluated(f"there is no field {name} in {_kind(value)}")


def _kind(value: Any) -> str:
    return str(value.GetDisplayTypeName() or value.GetTypeName() or "the value")


def _length(value: Any) -> int:
    for each in _levels(value):
        size = _SIZE.fullmatch(_text(each))
        if size is not None:
            return int(size[1])
        raw = each.GetNonSyntheticValue()
        for path in (("vec", "len"), ("length",), ("len",)):
            found = raw
            for name in path:
                found = _child(found, name) if found is not None else None
                found = found.GetNonSyntheticValue() if found is not None else None
            if found is not None:
                return int(found.GetValueAsUnsigned())
        if each.GetType().IsArrayType():
            return int(each.GetNumChildren())
    raise NotEvaluated(f"{_kind(value)} has no length")


def _element(value: Any, index: Any) -> Any:
    for each in _levels(value):
        if _MAP.search(each.GetTypeName() or ""):
            return _entry(each, index)
        is_container = _SIZE.fullmatch(_text(each)) or each.GetType().IsArrayType()
        if is_container and isinstance(index, int):
            length = _length(each)
            if not 0 <= index < length:
                raise NotEvaluated(f"index {index} is out of range: the length is {length}")
            return each.GetChildAtIndex(index)
    raise NotEvaluated(f"{_kind(value)} has no elements")


def _entry(value: Any, key: Any) -> Any:
    name = f"key {json.dumps(key, ensure_ascii=False) if isinstance(key, str) else key}"
    for index in range(min(value.GetNumChildren(), _MOST)):
        child = value.GetChildAtIndex(index)
        if child.GetName() == name:
            return child
        first, second = _child(child, "first"), _child(child, "second")
        if first is not None and second is not None and _scalar(first) == key:
            return second
    raise NotEvaluated(f"there is no entry {name.removeprefix('key ')}")


def _variant(value: Any) -> str:
    found = re.match(r"\w+", _text(value).rpartition("::")[2] or "")
    return found[0] if found is not None else ""


def _scalar(value: Any) -> Any:
    """Return a number, a truth value, a text or the name of a variant."""
    if not isinstance(value, lldb.SBValue):
        return value
    for each in _levels(value):
        text, kind = _text(each), each.GetType().GetCanonicalType()
        if text.startswith('"'):
            try:
                return json.loads(text)
            except ValueError:
                return text[1:-1]
        basic = kind.GetBasicType()
        if basic in _FLOATS:
            return float(each.GetValue())
        if basic == lldb.eBasicTypeBool:
            return each.GetValueAsUnsigned() != 0
        if basic in (lldb.eBasicTypeChar32, lldb.eBasicTypeChar16):
            return chr(each.GetValueAsUnsigned())
        if basic != lldb.eBasicTypeInvalid and not kind.IsPointerType():
            return int(each.GetValue())
        if not kind.IsPointerType() and _variant(each) and not _SIZE.fullmatch(text):
            return Variant(_variant(each))
    raise NotEvaluated(f"{_kind(value)} cannot be compared or calculated with here")


def _class(value: Any) -> type:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float
    return type(value)


# --- expressions --------------------------------------------------------------------------------


class Evaluation:
    """One expression in one frame."""

    def __init__(self, frame: Any, expression: str) -> None:
        self._frame = frame
        self._is_rust = frame.GetCompileUnit().GetLanguage() == lldb.eLanguageTypeRust
        self._tokens: list[str] = []
        at = 0
        text = _SUFFIX.sub("", expression.strip()) if '"' not in expression else expression.strip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise NotSupported(expression)
            self._tokens.append(found["token"])
            at = found.end()

    def result(self) -> Any:
        value = self._binary(0)
        if self._tokens:
            raise NotSupported(self._tokens[0])
        return value

    def _peek(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _take(self, expected: str | None = None) -> str:
        if not self._tokens or (expected is not None and self._tokens[0] != expected):
            raise NotSupported(expected or "the end")
        return self._tokens.pop(0)

    def _binary(self, level: int) -> Any:
        if level == len(_OPERATORS):
            return self._cast()
        left = self._binary(level + 1)
        while self._peek() in _OPERATORS[level]:
            apply = _OPERATORS[level][self._take()]
            values = _scalar(left), _scalar(self._binary(level + 1))
            if len({_class(each) for each in values}) > 1:
                raise NotEvaluated("values of different types are not compared or calculated with")
            try:
                left = apply(*values)
            except (TypeError, ZeroDivisionError) as error:
                raise NotEvaluated(str(error)) from None
        return left

    def _cast(self) -> Any:
        value = self._unary()
        while self._peek() == "as":
            self._take()
            value = float(_scalar(value)) if self._take().startswith("f") else int(_scalar(value))
        return value

    def _unary(self) -> Any:
        if self._peek() == "!":
            self._take()
            value = _scalar(self._unary())
            if not isinstance(value, bool):
                raise NotSupported("!")
            return not value
        if self._peek() == "-":
            self._take()
            return -_scalar(self._unary())
        if self._peek() == "*":
            self._take()
            value = self._unary()
            target = _behind(value) if isinstance(value, lldb.SBValue) else value
            if target is None:
                raise NotEvaluated(f"{_kind(value)} cannot be dereferenced")
            return target
        if self._peek() == "&":
            self._take()
            return self._unary()
        return self._postfix(self._primary())

    def _primary(self) -> Any:
        token = self._take()
        if token == "(":
            value = self._binary(0)
            self._take(")")
            return value
        if token[0].isdigit():
            plain = token.replace("_", "")
            return float(plain) if "." in plain else int(plain, 0)
        if token[0] in "\"'":
            return json.loads(f'"{token[1:-1]}"') if token[0] == "'" else json.loads(token)
        if token in ("true", "false"):
            return token == "true"
        if not re.match(r"[A-Za-z_]", token) or self._peek() == "(":
            raise NotSupported(token)  # a function, or an operator of C
        found = self._frame.FindVariable(token)
        if not found.IsValid():
            found = self._frame.FindValue(token, lldb.eValueTypeVariableGlobal)
        if found.IsValid():
            return found
        if "::" in token or token == "None":
            return Variant(token.rpartition("::")[2])
        raise NotEvaluated(f"there is no variable {token} here")

    def _postfix(self, value: Any) -> Any:
        while self._peek() in (".", "->", "["):
            if self._take() == "[":
                index = self._binary(0)
                self._take("]")
                value = _element(_of_lldb(value), _scalar(index))
                continue
            name = self._take()
            if self._peek() != "(":
                # `pair.0.1` is split at the wrong point.
                for each in name.split("."):
                    value = _member(_of_lldb(value), each)
                continue
            self._take("(")
            arguments = []
            if self._peek() != ")":
                arguments.append(self._binary(0))
            self._take(")")
            value = _called(value, name, arguments, self._is_rust)
        return value


def _of_lldb(value: Any) -> Any:
    if not isinstance(value, lldb.SBValue):
        raise NotSupported("a literal")
    return value


def _called(value: Any, name: str, arguments: list[Any], is_rust: bool) -> Any:
    if not is_rust:
        return _called_in_cpp(value, name, [_scalar(each) for each in arguments])
    if name in _VIEWS and not arguments:
        return value
    if name in ("unwrap", "expect"):
        return _unwrapped(_of_lldb(value))
    if name in ("len", "count") and not arguments:
        return _length(_of_lldb(value))
    if name == "is_empty":
        return _length(_of_lldb(value)) == 0
    if name in _VARIANTS:
        return _variant(_optional(_of_lldb(value))) == _VARIANTS[name]
    if name == "abs" and not arguments:
        return abs(_scalar(value))
    if name in ("starts_with", "ends_with", "contains") and isinstance(_is_text(value), str):
        text, other = _scalar(value), _scalar(arguments[0])
        checks = {"starts_with": text.startswith, "ends_with": text.endswith}
        return checks.get(name, text.__contains__)(other)
    if name == "contains_key":
        try:
            return bool(_element(_of_lldb(value), _scalar(arguments[0])).IsValid())
        except NotEvaluated:
            return False
    raise NotEvaluated(f"{name}() would have to run, and LLDB cannot call functions of Rust")


def _called_in_cpp(value: Any, name: str, arguments: list[Any]) -> Any:
    value = _of_lldb(value)
    if name in _VIEWS and not arguments:
        return value
    if name in ("size", "length") and not arguments:
        text = _is_text(value)
        return len(text.encode()) if isinstance(text, str) else _length(value)
    if name == "empty" and not arguments:
        return _called_in_cpp(value, "size", []) == 0
    if name in ("front", "back") and not arguments:
        return _element(value, 0 if name == "front" else _length(value) - 1)
    if name == "at" and len(arguments) == 1:
        return _element(value, arguments[0])
    kind = value.GetTypeName() or ""
    if name in ("has_value", "value") and _OPTIONAL.search(kind) and not arguments:
        has_value = "true" in _text(value)
        if name == "value" and not has_value:
            raise NotEvaluated("it has no value")
        return value.GetChildAtIndex(0) if name == "value" else has_value
    if name in ("count", "contains") and len(arguments) == 1 and _SET.search(kind):
        inside = range(min(value.GetNumChildren(), _MOST))
        found = sum(_scalar(value.GetChildAtIndex(each)) == arguments[0] for each in inside)
        return found if name == "count" else found > 0
    if name in ("count", "contains") and len(arguments) == 1 and _MAP.search(kind):
        try:
            found = int(_entry(value, arguments[0]).IsValid())
        except NotEvaluated:
            found = 0
        return found if name == "count" else found > 0
    raise NotSupported(name)


def _optional(value: Any) -> Any:
    for each in _levels(value):
        if _UNWRAPPED.match(each.GetTypeName() or ""):
            return each
    raise NotEvaluated(f"{_kind(value)} is neither an Option nor a Result")


def _is_text(value: Any) -> Any:
    try:
        return _scalar(value)
    except NotEvaluated:
        return None


def _unwrapped(value: Any) -> Any:
    if not _UNWRAPPED.match(value.GetTypeName() or ""):
        return value  # of a lock
    if _variant(value) not in ("Some", "Ok"):
        raise NotEvaluated(f"it is {_text(value)}")
    return _member(value, "0")


# --- answers ------------------------------------------------------------------------------------


def evaluate(frame: Any, expression: str) -> Any:
    """Return an SBValue, a number, a truth value or a text. Raises NotSupported, NotEvaluated."""
    value = Evaluation(frame, expression).result()
    if isinstance(value, Variant):
        raise NotSupported(value)
    return value


def as_lldb(value: Any) -> str:
    """Return an expression of LLDB for a value."""
    if isinstance(value, lldb.SBValue):
        kept = value.Persist()
        if not kept.IsValid() or kept.GetError().Fail():
            raise NotSupported("a value without an address")
        return str(kept.GetName())
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(1 << 31) <= value < 1 << 31 else f"{value}{'U' * (value > 0)}LL"
    return json.dumps(value, ensure_ascii=False)


def rust_expression(_debugger: Any, command: str, context: Any, result: Any, _state: Any) -> None:
    """Take an expression, packed; print an expression of LLDB for its value."""
    try:
        value = evaluate(context.GetFrame(), bytes.fromhex(command.strip()).decode())
        answer = {"expression": as_lldb(value)}
    except NotEvaluated as error:
        answer = {"error": str(error)}
    except (NotSupported, ValueError, OverflowError):
        answer = {}
    result.AppendMessage(json.dumps(answer))


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -s current -f {__name__}.rust_expression {COMMAND}")
