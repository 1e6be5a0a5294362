"""Which expression of a failing Python statement holds the wrong value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from freezeframe.model.fast_dataclass import dataclass

from .source_patterns import EXPECTING

#: variables that are called so hold what is right
RIGHT = re.compile(r"(?:^|_)(?:expect\w*|exp|want\w*|correct|desired|reference|ref|target)(?:_|$)")
_ATTRIBUTE = re.compile(r"has no attribute '(\w+)'")
_NONE = re.compile(r"'NoneType' object")
#: assertions with one subject; others compare their first two arguments
_ONE = re.compile(r"assert_?(?:true|false|is_?none|is_?not_?none|_)$", re.IGNORECASE)
#: variables that stand for everything around them
_WHOLE = frozenset(("self", "cls"))
_MOST_VARIABLES = 8
#: characters of a condition that is explained as a whole
_LONGEST = 60
#: nodes of literals
_LITERALS = (
    *(ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp),
    *(ast.expr_context, ast.unaryop),
)


@dataclass(frozen=True, slots=True)
class FailingExpression:
    """The expression to explain."""

    text: str
    #: the expression that it was compared with for equality
    compared: str | None = None


def failing_expression(source: str, line: int, type: str, message: str) -> FailingExpression | None:
    """Return the expression behind the failure of the statement at *line*; None if unclear."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = _statement(tree, line)
    if found is None:
        return None
    statement, above = found
    if isinstance(statement, ast.Assert):
        return _of_condition(_failed_operand(statement.test, message))
    call = _assertion(statement)
    if call is not None:
        return _of_assertion(call)
    if isinstance(statement, ast.Raise):
        return _of_raise(statement, above)
    if isinstance(statement, ast.With) and any(map(_is_expecting, statement.items)):
        return _of_expected(statement)
    return _of_error(statement, type.rpartition(".")[2], message, _imported(tree))


def _imported(tree: ast.Module) -> frozenset[str]:
    """Return the names that a file imports: they hold no wrong value."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def _is_expecting(item: ast.withitem) -> bool:
    """Whether a `with` expects an exception: `pytest.raises(…)`, `self.assertRaises(…)`."""
    call = item.context_expr
    return isinstance(call, ast.Call) and bool(EXPECTING.fullmatch(_called(call)))


def _of_expected(statement: ast.With) -> FailingExpression | None:
    """Return the last call of a block that was to raise: it did not, or not what was expected."""
    last = statement.body[-1]
    value = getattr(last, "value", None)
    if isinstance(value, ast.Await):
        value = value.value
    if not isinstance(value, ast.expr) or _plain(value) or isinstance(value, ast.Name):
        return None
    return FailingExpression(ast.unparse(value))


def _statement(tree: ast.Module, line: int) -> tuple[ast.stmt, list[ast.stmt]] | None:
    """Return the innermost statement at a line, and the statements around it, outermost first."""
    path: list[ast.stmt] = []
    body: ast.AST = tree
    while True:
        inner = next((each for each in _statements(body) if _covers(each, line)), None)
        if inner is None:
            return (path[-1], path[:-1]) if path else None
        path.append(inner)
        body = inner


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from _statements(child)


def _covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _plain(node: ast.expr) -> bool:
    """Whether an expression is a literal: nothing made its value."""
    return all(isinstance(each, _LITERALS) for each in ast.walk(node))


def _is_right(node: ast.expr) -> bool:
    """Whether an expression holds the value that is right, by its form or its name."""
    if _plain(node):
        return True
    name = (
        node.id
        if isinstance(node, ast.Name)
        else node.attr
        if isinstance(node, ast.Attribute)
        else ""
    )
    return bool(RIGHT.search(name))


def _of_pair(left: ast.expr, right: ast.expr, *, equality: bool) -> FailingExpression:
    wrong, other = (right, left) if _is_right(left) and not _is_right(right) else (left, right)
    return FailingExpression(ast.unparse(wrong), ast.unparse(other) if equality else None)


def _failed_operand(test: ast.expr, message: str) -> ast.expr:
    """Return the operand of `a and b` that was false, if pytest's message says which one it was.

    The message has the operands that were evaluated: the last of them was false.
    """
    if not isinstance(test, ast.BoolOp) or not message.startswith("assert ("):
        return test
    if isinstance(test.op, ast.Or):
        return test.values[0]
    evaluated = message.partition("\n")[0].count(" and ")
    if evaluated == 0:
        return test.values[0]
    return test.values[-1] if evaluated == len(test.values) - 1 else test


def _of_condition(test: ast.expr) -> FailingExpression | None:
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        equality = isinstance(test.ops[0], ast.Eq | ast.Is)
        return _of_pair(test.left, test.comparators[0], equality=equality)
    if isinstance(test, ast.Call) and getattr(test.func, "id", "") in ("isinstance", "len", "bool"):
        return FailingExpression(ast.unparse(test.args[0])) if test.args else None
    if isinstance(test, ast.Call) and getattr(test.func, "id", "") in ("all", "any"):
        return FailingExpression(ast.unparse(test))
    return None if _plain(test) else FailingExpression(ast.unparse(test))


def _assertion(statement: ast.stmt) -> ast.Call | None:
    """Return the call of an assertion: `self.assertEqual(a, b)`, `assert_frame_equal(a, b)`."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    name = _called(statement.value)
    is_assertion = name.lower().startswith("assert") or EXPECTING.fullmatch(name)
    return statement.value if is_assertion else None


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _of_assertion(call: ast.Call) -> FailingExpression | None:
    name, arguments = (
        _called(call),
        [each for each in call.args if not isinstance(each, ast.Starred)],
    )
    if EXPECTING.fullmatch(name) and len(arguments) > 1:
        return FailingExpression(ast.unparse(call))  # `raises(ValueError, parse, text)`
    if not arguments or "raises" in name.lower():
        return None
    if _ONE.search(name) or len(arguments) == 1:
        return _of_condition(arguments[0])
    return _of_pair(arguments[0], arguments[1], equality="equal" in name.lower())


def _variables(node: ast.AST) -> list[ast.Name]:
    """Return the variables that code reads, without functions that it calls and `self`."""
    called = {each.func for each in ast.walk(node) if isinstance(each, ast.Call)}
    return [
        each
        for each in ast.walk(node)
        if isinstance(each, ast.Name)
        and isinstance(each.ctx, ast.Load)
        and each not in called
        and each.id not in _WHOLE
    ]


def _of_raise(statement: ast.Raise, above: list[ast.stmt]) -> FailingExpression | None:
    """Return what decided that the exception is raised: a condition, a loop, another exception."""
    inside: ast.stmt = statement
    found: FailingExpression | None = None
    is_flag = False
    for outer in reversed(above):
        loop = _loop_before(outer, inside)
        if loop is not None:
            return loop
        if isinstance(outer, ast.Try):
            caught = next((each for each in outer.handlers if inside in each.body), None)
            if caught is not None:
                return FailingExpression(caught.name or "")
        if isinstance(outer, ast.If | ast.While) and found is None:
            found = _of_condition(outer.test)
            is_flag = _is_flag(outer.test, above)
            if found is not None and not is_flag and not isinstance(outer.test, ast.Name):
                return _short(found.text, outer.test)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
            break
        inside = outer
    # A flag says that it is raised at all; what is raised tells more.
    names = _variables(statement.exc) if statement.exc is not None else []
    if names and (found is None or is_flag):
        return FailingExpression(ast.unparse(names[0]))
    return FailingExpression(found.text) if found is not None else None


def _is_flag(test: ast.expr, above: list[ast.stmt]) -> bool:
    """Whether a condition is a parameter or a field of `self` as it is, or not."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Attribute):
        return isinstance(test.value, ast.Name) and test.value.id in _WHOLE
    function = next((each for each in reversed(above) if isinstance(each, ast.FunctionDef)), None)
    if function is None or not isinstance(test, ast.Name):
        return False
    return any(each.arg == test.id for each in ast.walk(function) if isinstance(each, ast.arg))


def _short(text: str, test: ast.expr) -> FailingExpression:
    """Return a condition, or the variable that it reads most where it is long."""
    names = [each.id for each in _variables(test)]
    if len(text) <= _LONGEST or not names:
        return FailingExpression(text)
    return FailingExpression(max(names, key=names.count))


def _loop_before(outer: ast.stmt, inside: ast.stmt) -> FailingExpression | None:
    """Return the condition that did not hold in a loop just before a statement of the same block.

    Had it held, the loop would have returned, or left, or gone on.
    """
    for block in (getattr(outer, name, None) for name in ("body", "orelse", "finalbody")):
        if not isinstance(block, list) or inside not in block:
            continue
        if isinstance(outer, ast.For | ast.While) and block is outer.orelse:
            return _of_loop(outer)
        at = block.index(inside)
        if at and isinstance(block[at - 1], ast.For | ast.While):
            return _of_loop(block[at - 1])
    return None


def _of_loop(loop: ast.stmt) -> FailingExpression | None:
    if isinstance(loop, ast.While) and not _plain(loop.test):
        return FailingExpression(ast.unparse(loop.test))
    tests = [
        each.test
        for each in ast.walk(loop)
        if isinstance(each, ast.If) and isinstance(each.body[-1], ast.Return | ast.Break)
    ]
    if tests:
        return FailingExpression(ast.unparse(tests[-1]))
    return FailingExpression(ast.unparse(loop.iter)) if isinstance(loop, ast.For) else None


def _of_error(
    statement: ast.stmt, type: str, message: str, imported: frozenset[str]
) -> FailingExpression | None:
    """Return the operand that made an operation fail."""
    nodes = [each for each in ast.walk(_header(statement)) if isinstance(each, ast.expr)]
    attribute = _ATTRIBUTE.search(message)
    if attribute is not None:
        owners = [
            each.value
            for each in nodes
            if isinstance(each, ast.Attribute) and each.attr == attribute[1]
        ]
        return FailingExpression(ast.unparse(owners[0])) if len(owners) == 1 else None
    if type in ("KeyError", "IndexError"):
        subscripts = [each for each in nodes if isinstance(each, ast.Subscript)]
        if len(subscripts) == 1:
            owner, key = ast.unparse(subscripts[0].value), subscripts[0].slice
            # Either may be wrong: the key, or what was never put there.
            return FailingExpression(owner if _plain(key) else f"({ast.unparse(key)}, {owner})")
        return None
    if type == "ZeroDivisionError":
        divided = [
            each.right
            for each in nodes
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Div | ast.FloorDiv | ast.Mod)
        ]
        return FailingExpression(ast.unparse(divided[0])) if len(divided) == 1 else None
    if _NONE.search(message) and "subscriptable" in message:
        owners = [each.value for each in nodes if isinstance(each, ast.Subscript)]
        return FailingExpression(ast.unparse(owners[0])) if len(owners) == 1 else None
    # Which operand the operation refused is not known: all variables that the statement reads.
    read = [each.id for each in _variables(_header(statement))]
    names = [each for each in dict.fromkeys(read) if each not in imported]
    if not 0 < len(names) <= _MOST_VARIABLES:
        return None
    return FailingExpression(names[0] if len(names) == 1 else f"({', '.join(names)})")


def _header(statement: ast.stmt) -> ast.AST:
    """Return what a statement itself evaluates: of a block, its condition or iterable."""
    for field in ("test", "iter", "subject"):
        inner = getattr(statement, field, None)
        if isinstance(inner, ast.AST):
            return inner
    if isinstance(statement, ast.With | ast.AsyncWith):
        return ast.Tuple([each.context_expr for each in statement.items], ast.Load())
    return statement
