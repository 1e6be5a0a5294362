"""Runs inside LLDB: evaluates expressions of Rust, and those of C++ that LLDB cannot.

LLDB takes Rust for C++, and can call only those functions of templates that the program uses.
Fields, elements, entries and lengths, targets of Rc, Arc, Box and references, variants, operators.
Only memory is read: no function of the program is called, so `lock()` and `borrow()` take nothing.
"""

import contextlib
import json
import operator
import re
from collections.abc import Callable
from typing import Any

import expression_values_agent as operands  # type: ignore[import-not-found]
import lldb  # type: ignore[import-not-found]
from expression_values_agent import (
    NotEvaluated,
    NotSupported,
    UnknownName,
    Variant,
)

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
#: one to an element or a target: to LLDB their places are those of C
_ASSIGNMENT = re.compile(
    r"(?P<target>\*[^=]+?|[^=]*\[[^=]+?)\s*(?P<sign>[-+*/%]?=)(?!=)\s*(?P<value>.+)"
)
_VARIANTS = {"is_some": "Some", "is_none": "None", "is_ok": "Ok", "is_err": "Err"}
#: calls that return the value, or a view of it
_VIEWS = frozenset(
    {"as_ref", "as_mut", "as_str", "as_slice", "as_deref", "borrow", "lock", "read"}
    | {"clone", "iter", "to_string", "deref", "get", "c_str", "data", "str"}
)
_UNWRAPPED = re.compile(r"core::(?:option::Option|result::Result)<")
_OPTIONAL = re.compile(r"std::(?:__\w+::)?optional<")
_SET = re.compile(r"(?:Hash|BTree)Set<|^std::(?:__\w+::)*(?:unordered_)?(?:multi)?set<")


def _divided(left: Any, right: Any) -> Any:
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def _rest(left: Any, right: Any) -> Any:
    return left - right * _divided(left, right)


# --- expressions --------------------------------------------------------------------------------


def is_rust(frame: Any) -> bool:
    return bool(frame.GetCompileUnit().GetLanguage() == lldb.eLanguageTypeRust)


class Evaluation:
    """One expression in one frame."""

    def __init__(self, frame: Any, expression: str) -> None:
        self._frame = frame
        self._is_rust = is_rust(frame)
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
            sign = self._take()
            apply, right = _OPERATORS[level][sign], self._binary(level + 1)
            values = operands.scalar(left), operands.scalar(right)
            if sign in ("==", "!=") and operands.is_pointer(left) and operands.is_pointer(right):
                operands.check_alike(left, right, values)
            if len({operands.class_of(each) for each in values}) > 1:
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
            value = (
                float(operands.scalar(value))
                if self._take().startswith("f")
                else int(operands.scalar(value))
            )
        return value

    def _unary(self) -> Any:
        if self._peek() == "!":
            self._take()
            value = operands.scalar(self._unary())
            if not isinstance(value, bool):
                raise NotSupported("!")
            return not value
        if self._peek() == "-":
            self._take()
            return -operands.scalar(self._unary())
        if self._peek() == "*":
            self._take()
            value = self._unary()
            target = operands.behind(value) if isinstance(value, lldb.SBValue) else value
            if target is None:
                raise NotEvaluated(f"{operands.kind_of(value)} cannot be dereferenced")
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
        this = self._frame.FindVariable("this")
        if not self._is_rust and this.IsValid():
            with contextlib.suppress(NotEvaluated):
                return operands.member(this, token)
        if "::" in token or token == "None":
            return Variant(token.rpartition("::")[2])
        raise UnknownName(f"there is no variable {token} here")

    def _postfix(self, value: Any) -> Any:
        while self._peek() in (".", "->", "["):
            if self._take() == "[":
                index = self._binary(0)
                self._take("]")
                value = operands.element(_of_lldb(value), operands.scalar(index))
                continue
            name = self._take()
            if self._peek() != "(":
                # `pair.0.1` is split at the wrong point.
                for each in name.split("."):
                    value = operands.member(_of_lldb(value), each)
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
        return _called_in_cpp(value, name, [operands.scalar(each) for each in arguments])
    if name in _VIEWS and not arguments:
        return value
    if name in ("unwrap", "expect"):
        return _unwrapped(_of_lldb(value))
    if name in ("len", "count") and not arguments:
        return operands.length_of(_of_lldb(value))
    if name == "is_empty":
        return operands.length_of(_of_lldb(value)) == 0
    if name in _VARIANTS:
        return operands.variant_of(_optional(_of_lldb(value))) == _VARIANTS[name]
    if name == "abs" and not arguments:
        return abs(operands.scalar(value))
    if name in ("starts_with", "ends_with", "contains") and isinstance(_is_text(value), str):
        text, other = operands.scalar(value), operands.scalar(arguments[0])
        checks = {"starts_with": text.startswith, "ends_with": text.endswith}
        return checks.get(name, text.__contains__)(other)
    if name == "contains_key":
        try:
            return bool(operands.element(_of_lldb(value), operands.scalar(arguments[0])).IsValid())
        except NotEvaluated:
            return False
    raise NotEvaluated(f"{name}() would have to run, and LLDB cannot call functions of Rust")


def _called_in_cpp(value: Any, name: str, arguments: list[Any]) -> Any:
    value = _of_lldb(value)
    if name in _VIEWS and not arguments:
        return value
    if name in ("size", "length") and not arguments:
        text = _is_text(value)
        return len(text.encode()) if isinstance(text, str) else operands.length_of(value)
    if name == "empty" and not arguments:
        return _called_in_cpp(value, "size", []) == 0
    if name in ("front", "back") and not arguments:
        return operands.element(value, 0 if name == "front" else operands.length_of(value) - 1)
    if name == "at" and len(arguments) == 1:
        return operands.element(value, arguments[0])
    kind = value.GetTypeName() or ""
    if name in ("has_value", "value") and _OPTIONAL.search(kind) and not arguments:
        has_value = "true" in operands.text_of(value)
        if name == "value" and not has_value:
            raise NotEvaluated("it has no value")
        return value.GetChildAtIndex(0) if name == "value" else has_value
    if name in ("count", "contains") and len(arguments) == 1 and _SET.search(kind):
        inside = range(min(value.GetNumChildren(), operands.MOST))
        found = sum(operands.scalar(value.GetChildAtIndex(each)) == arguments[0] for each in inside)
        return found if name == "count" else found > 0
    if name in ("count", "contains") and len(arguments) == 1 and operands.MAP.search(kind):
        try:
            found = int(operands.entry(value, arguments[0]).IsValid())
        except NotEvaluated:
            found = 0
        return found if name == "count" else found > 0
    raise NotSupported(name)


def _optional(value: Any) -> Any:
    for each in operands.levels(value):
        if _UNWRAPPED.match(each.GetTypeName() or ""):
            return each
    raise NotEvaluated(f"{operands.kind_of(value)} is neither an Option nor a Result")


def _is_text(value: Any) -> Any:
    try:
        return operands.scalar(value)
    except NotEvaluated:
        return None


def _unwrapped(value: Any) -> Any:
    if not _UNWRAPPED.match(value.GetTypeName() or ""):
        return value  # of a lock
    if operands.variant_of(value) not in ("Some", "Ok"):
        raise NotEvaluated(f"it is {operands.text_of(value)}")
    return operands.member(value, "0")


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


def lvalue(value: Any) -> str | None:
    """Return an expression of LLDB for the memory of a plain value; None for other values."""
    if not isinstance(value, lldb.SBValue):
        return None
    kind, address = value.GetType().GetCanonicalType(), value.GetLoadAddress()
    if kind.GetBasicType() == lldb.eBasicTypeInvalid or address == lldb.LLDB_INVALID_ADDRESS:
        return None
    return f"*({kind.GetName()} *){address:#x}"


def assignment(frame: Any, text: str) -> str | None:
    """Return an assignment to an element of Rust as LLDB is to make it; None for anything else."""
    parts = _ASSIGNMENT.fullmatch(text.strip())
    if parts is None or not is_rust(frame):
        return None
    target = lvalue(evaluate(frame, parts["target"]))
    if target is None:
        raise NotEvaluated("only numbers, characters and truth values in memory can be changed")
    return f"{target} {parts['sign']} {as_lldb(evaluate(frame, parts['value']))}"


def rust_expression(_debugger: Any, command: str, context: Any, result: Any, _state: Any) -> None:
    """Take an expression, packed; print an expression of LLDB for its value, and for its memory.

    After it `rust`: nothing is printed for frames of other languages.
    """
    packed, _, only = command.strip().partition(" ")
    frame = context.GetFrame()
    try:
        if only and not is_rust(frame):
            raise NotSupported("another language")
        text = bytes.fromhex(packed).decode()
        answer: dict[str, str | None] = {}
        if (assigned := assignment(frame, text)) is not None:
            answer = {"expression": assigned}
        else:
            value = evaluate(frame, text)
            answer = {"expression": as_lldb(value), "lvalue": lvalue(value)}
    except NotEvaluated as error:
        is_of_lldb = only and isinstance(error, UnknownName)
        answer = {} if is_of_lldb else {"error": str(error)}
    except (NotSupported, ValueError, OverflowError):
        answer = {}
    result.AppendMessage(json.dumps(answer))


def __lldb_init_module(debugger: Any, _: Any) -> None:
    debugger.HandleCommand(f"command script add -s current -f {__name__}.rust_expression {COMMAND}")
