"""Python's syntax trees of expressions in the form that provenance reads."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .expressions import Expression, Form, Position

_MOST_TEXT = 200


def position_of(node: ast.expr | ast.stmt | ast.ExceptHandler) -> Position:
    return (
        node.lineno,
        node.col_offset,
        node.end_lineno or node.lineno,
        node.end_col_offset or node.col_offset,
    )


def text_of(node: ast.AST) -> str:
    """Return the source of *node* on one line, quotes and spaces normalised."""
    try:
        return " ".join(ast.unparse(node).split())[:_MOST_TEXT]
    except (RecursionError, ValueError):
        return ""


def expression(node: ast.expr) -> Expression:
    """Return *node* in the common form."""
    convert = _FORMS.get(type(node))
    return convert(node) if convert is not None else _other(node)


def parsed(text: str) -> Expression | None:
    """Return *text* as an expression; None if it is none."""
    try:
        return expression(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def is_expression(text: str) -> bool:
    return parsed(text) is not None


def free_names(text: str) -> tuple[str, ...]:
    """Return the names that an expression reads and does not bind itself."""
    try:
        nodes = list(ast.walk(ast.parse(text.strip(), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    names = [each for each in nodes if isinstance(each, ast.Name)]
    bound = {each.id for each in names if not isinstance(each.ctx, ast.Load)}
    bound |= {each.arg for each in nodes if isinstance(each, ast.arg)}
    return tuple(dict.fromkeys(each.id for each in names if each.id not in bound))


def _made(
    node: ast.expr,
    form: Form,
    operands: Sequence[ast.expr] = (),
    name: str = "",
    labels: Sequence[str] = (),
    targets: Sequence[ast.expr] = (),
) -> Expression:
    return Expression(
        text_of(node),
        form,
        position_of(node),
        tuple(expression(each) for each in operands),
        name,
        tuple(labels),
        tuple(expression(each) for each in targets),
    )


def _name(node: ast.Name) -> Expression:
    return _made(node, Form.NAME, name=node.id)


def _constant(node: ast.Constant) -> Expression:
    return _made(node, Form.CONSTANT)


def _attribute(node: ast.Attribute) -> Expression:
    return _made(node, Form.PART, [node.value], f".{node.attr}")


def _subscript(node: ast.Subscript) -> Expression:
    if isinstance(node.slice, ast.Slice):
        bounds = [each for each in (node.slice.lower, node.slice.upper, node.slice.step) if each]
        return _made(node, Form.OTHER, [node.value, *bounds], "slice")
    name = f"[{text_of(node.slice)}]" if _is_literal(node.slice) else ""
    return _made(node, Form.PART, [node.value, node.slice], name)


def _is_literal(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return False  # `[-1]` is another element by its length
    if isinstance(node, ast.Tuple):
        return all(_is_literal(each) for each in node.elts)
    return isinstance(node, ast.Constant)


def _call(node: ast.Call) -> Expression:
    labels = ["*" if isinstance(each, ast.Starred) else "" for each in node.args]
    labels += ["**" if each.arg is None else each.arg for each in node.keywords]
    arguments = [each.value if isinstance(each, ast.Starred) else each for each in node.args]
    arguments += [each.value for each in node.keywords]
    return _made(node, Form.CALL, [node.func, *arguments], labels=labels)


def _choice(node: ast.IfExp) -> Expression:
    return _made(node, Form.CHOICE, [node.test, node.body, node.orelse])


def _logic(node: ast.BoolOp) -> Expression:
    return _made(node, Form.LOGIC, node.values, "and" if isinstance(node.op, ast.And) else "or")


def _binary(node: ast.BinOp) -> Expression:
    if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.JoinedStr):
        return _made(node, Form.TEXT, [node.right])
    return _made(node, Form.OPERATION, [node.left, node.right], _OPERATORS[type(node.op)])


def _unary(node: ast.UnaryOp) -> Expression:
    return _made(node, Form.OPERATION, [node.operand], _OPERATORS[type(node.op)])


def _compare(node: ast.Compare) -> Expression:
    name = " ".join(_OPERATORS[type(each)] for each in node.ops)
    return _made(node, Form.OPERATION, [node.left, *node.comparators], name)


_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.MatMult: "@",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.BitAnd: "&",
    ast.FloorDiv: "//",
    ast.Invert: "~",
    ast.Not: "not",
    ast.UAdd: "+",
    ast.USub: "-",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def operator(node: ast.operator) -> str:
    return _OPERATORS[type(node)]


def _display(node: ast.List | ast.Tuple | ast.Set) -> Expression:
    labels = ["*" if isinstance(each, ast.Starred) else "" for each in node.elts]
    items = [each.value if isinstance(each, ast.Starred) else each for each in node.elts]
    return _made(node, Form.DISPLAY, items, type(node).__name__.lower(), labels)


def _dictionary(node: ast.Dict) -> Expression:
    labels = ["**" if each is None else text_of(each) for each in node.keys]
    return _made(node, Form.DISPLAY, node.values, "dict", labels)


def _joined(node: ast.JoinedStr) -> Expression:
    made = _made(node, Form.TEXT)
    return replace(made, operands=tuple(_piece(each) for each in node.values))


def _piece(node: ast.expr) -> Expression:
    """Return a part of a format string; one that is converted is not the value's own text."""
    if not isinstance(node, ast.FormattedValue):
        return expression(node)
    inner = expression(node.value)
    if node.conversion == -1 and node.format_spec is None:
        return inner
    return Expression(inner.text, Form.OTHER, inner.position, (inner,))


def _comprehension(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
) -> Expression:
    element = node.value if isinstance(node, ast.DictComp) else node.elt
    names = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict"}
    return _made(
        node,
        Form.COMPREHENSION,
        [element, *(each.iter for each in node.generators)],
        names.get(type(node), "generator"),
        ["if"] * any(each.ifs for each in node.generators),
        targets=[each.target for each in node.generators],
    )


def _same(node: ast.Await | ast.Starred) -> Expression:
    return _made(node, Form.SAME, [node.value])


def _named(node: ast.NamedExpr) -> Expression:
    return _made(node, Form.SAME, [node.value])


def _yield(node: ast.Yield | ast.YieldFrom) -> Expression:
    return _made(node, Form.SENT, [node.value] if node.value is not None else [])


def _definition(node: ast.expr) -> Expression:
    return _made(node, Form.DEFINITION)


def _other(node: ast.expr) -> Expression:
    inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
    return _made(node, Form.OTHER, inner)


_FORMS: dict[type[ast.AST], Callable[[Any], Expression]] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.IfExp: _choice,
    ast.BoolOp: _logic,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.List: _display,
    ast.Tuple: _display,
    ast.Set: _display,
    ast.Dict: _dictionary,
    ast.JoinedStr: _joined,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Await: _same,
    ast.Starred: _same,
    ast.NamedExpr: _named,
    ast.Lambda: _definition,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}
