"""What each line of a Python file reads, writes and decides, by its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .expressions import (
    Branch,
    EarlyExit,
    Expression,
    Form,
    Parameter,
    Position,
    Statement,
    StatementKind,
    WrittenTarget,
)
from .python_expressions import expression, operator, parsed, position_of, text_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Module)
_Header = ast.stmt | ast.ExceptHandler | ast.match_case


class PythonSource:
    """A parsed file. Raises SyntaxError or ValueError if it is not Python."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._tree = ast.parse("\n".join(lines) + "\n")
        self._parents: dict[ast.AST, ast.AST] = {}
        self._calls: dict[Position, ast.Call] = {}
        #: line → statements whose header has it, outermost first
        self._at: dict[int, list[_Header]] = {}
        self._made: dict[_Header, Statement] = {}
        self._nodes: dict[tuple[int, int], _Header] = {}
        for node in ast.walk(self._tree):
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
            if isinstance(node, ast.Call):
                self._calls[position_of(node)] = node
            if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                first, last = _header_lines(node)
                for line in range(first, last + 1):
                    self._at.setdefault(line, []).append(node)

    # --- what provenance asks

    def statement(self, line: int) -> Statement | None:
        found = self._at.get(line)
        if not found:
            return None
        # `if x: y = 1` on one line: the simple statement is the one that can write.
        return self._statement(found[-1])

    def branches(self, statement: Statement) -> tuple[Branch, ...]:
        node = self._nodes.get((statement.first, statement.column))
        return tuple(self._branches(node)) if node is not None else ()

    def exits(self, statement: Statement) -> tuple[EarlyExit, ...]:
        node: ast.AST | None = self._nodes.get((statement.first, statement.column))
        found: list[EarlyExit] = []
        while node is not None and not isinstance(node, _SCOPES):
            parent = self._parents.get(node)
            if parent is None:
                break
            for before in reversed(_siblings_before(parent, node)):
                if isinstance(before, ast.If):
                    body, other = _leaves(before.body), _leaves(before.orelse)
                    if body != other:
                        found.append(EarlyExit(self._statement(before), body))
                elif isinstance(before, ast.For | ast.AsyncFor | ast.While):
                    found += self._returns_inside(before)
            node = parent
        return tuple(found)

    def _returns_inside(self, loop: ast.stmt) -> list[EarlyExit]:
        """Return the conditions of a loop under which its function returns, the last one first."""
        scope = self._scope(loop)
        found = [
            each
            for each in ast.walk(loop)
            if isinstance(each, ast.If)
            and isinstance(each.body[-1], ast.Return)
            and self._scope(each) is scope
        ]
        found.sort(key=lambda each: each.lineno, reverse=True)
        return [EarlyExit(self._statement(each), True) for each in found]

    def other_writes(self, statement: Statement, target: str) -> tuple[Statement, ...]:
        node = self._nodes.get((statement.first, statement.column))
        if node is None:
            return ()
        scope = self._scope(node)
        found = []
        for inner in ast.walk(scope):
            if inner is node or not isinstance(inner, ast.stmt | ast.ExceptHandler):
                continue
            if self._scope(inner) is not scope or isinstance(inner, _SCOPES):
                continue
            made = self._statement(inner)
            if any(each.target.text == target for each in made.writes):
                found.append(made)
        return tuple(sorted(found, key=lambda each: each.first))

    def parameters(self, first_line: int) -> tuple[Parameter, ...]:
        node = self._function(first_line)
        return _parameters(node.args) if node is not None else ()

    def raises(self, first_line: int) -> tuple[Statement, ...]:
        return self._of_function(first_line, ast.Raise)

    def returns(self, first_line: int) -> tuple[Statement, ...]:
        return self._of_function(first_line, ast.Return)

    def _of_function(
        self, first_line: int, kind: type[ast.Raise | ast.Return]
    ) -> tuple[Statement, ...]:
        function = self._function(first_line)
        if function is None:
            return ()
        found = [each for each in ast.walk(function) if isinstance(each, kind)]
        return tuple(self._statement(each) for each in found if self._scope(each) is function)

    def _function(self, first_line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = {node.lineno, *(each.lineno for each in node.decorator_list)}
                if first_line in lines:
                    return node
        return None

    def bases(self, first_line: int) -> tuple[str, ...]:
        for node in self._at.get(first_line, ()):
            if isinstance(node, ast.ClassDef):
                return tuple(text_of(each).rpartition(".")[2] for each in node.bases)
        return ()

    def lambda_at(self, line: int) -> Expression | None:
        found = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Lambda) and node.lineno == line
        ]
        return expression(found[0].body) if len(found) == 1 else None

    def call_at(self, position: Position) -> Expression | None:
        node = self._calls.get(position)
        return expression(node) if node is not None else None

    def expression(self, text: str) -> Expression | None:
        return parsed(text)

    # --- statements

    def _statement(self, node: _Header) -> Statement:
        made = self._made.get(node)
        if made is None:
            made = self._made[node] = _statement_of(node)
            self._nodes[made.first, made.column] = node
        return made

    def _scope(self, node: ast.AST) -> ast.AST:
        above = self._parents.get(node)
        while above is not None and not isinstance(above, _SCOPES):
            node, above = above, self._parents.get(above)
        return above if above is not None else self._tree

    def _branches(self, node: ast.AST) -> Iterator[Branch]:
        while not isinstance(node, _SCOPES):
            parent = self._parents.get(node)
            if parent is None:
                return
            if isinstance(parent, ast.If | ast.While | ast.For | ast.AsyncFor):
                if isinstance(node, ast.stmt) and node in parent.body:
                    yield Branch(self._statement(parent), True)
                elif isinstance(node, ast.stmt) and node in parent.orelse:
                    yield Branch(self._statement(parent), False)
            elif isinstance(parent, ast.ExceptHandler | ast.match_case) and isinstance(
                node, ast.stmt
            ):
                yield Branch(self._statement(parent), True)
            node = parent


def _header_lines(node: _Header) -> tuple[int, int]:
    """Return the lines of a statement without its body."""
    if isinstance(node, ast.match_case):
        first = node.pattern.lineno
        return first, max(first, node.body[0].lineno - 1) if node.body else first
    first = node.lineno
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        first = min([first, *(each.lineno for each in node.decorator_list)])
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if not body or not isinstance(body, list):
        return first, node.end_lineno or first
    parts = [
        each.end_lineno or 0 for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)
    ]
    if isinstance(node, ast.With | ast.AsyncWith):
        parts += [each.context_expr.end_lineno or 0 for each in node.items]
    return first, max([node.lineno, *parts])


def _statement_of(node: _Header) -> Statement:
    first, last = _header_lines(node)
    kind, text = StatementKind.PLAIN, ""
    value: Expression | None = None
    writes: tuple[WrittenTarget, ...] = ()
    if isinstance(node, ast.match_case):
        return Statement(
            StatementKind.CASE,
            first,
            last,
            f"case {text_of(node.pattern)}",
            column=node.pattern.col_offset,
            end=node.body[-1].end_lineno or last,
            body_end=node.body[-1].end_lineno or last,
        )
    reader = _READERS.get(type(node))
    if reader is not None:
        kind, value, writes, text = reader(node)
    else:
        inner = [each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)]
        value = expression(inner[0]) if inner else None
    writes += tuple(_walrus(node))
    body = getattr(node, "body", None)
    body_end = body[-1].end_lineno if isinstance(body, list) and body else last
    return Statement(
        kind,
        first,
        last,
        text or text_of(node),
        writes,
        value,
        node.col_offset,
        node.end_lineno or last,
        body_end or last,
    )


_Read = tuple[StatementKind, Expression | None, tuple[WrittenTarget, ...], str]


def _assign(node: ast.Assign) -> _Read:
    value = expression(node.value)
    writes = [each for target in node.targets for each in _unpacked(target, value)]
    return StatementKind.PLAIN, value, tuple(writes), ""


def _annotated(node: ast.AnnAssign) -> _Read:
    if node.value is None:
        return StatementKind.PLAIN, None, (), ""
    value = expression(node.value)
    return StatementKind.PLAIN, value, (WrittenTarget(expression(node.target), value),), ""


def _augmented(node: ast.AugAssign) -> _Read:
    target, value = expression(node.target), expression(node.value)
    both = Expression(
        f"{target.text} {operator(node.op)} {value.text}",
        Form.OPERATION,
        position_of(node),
        (target, value),
        operator(node.op),
    )
    return StatementKind.PLAIN, both, (WrittenTarget(target, both, augmented=True),), ""


def _for(node: ast.For | ast.AsyncFor) -> _Read:
    source = expression(node.iter)
    element = Expression(source.text, Form.ELEMENT, source.position, (source,))
    text = f"for {text_of(node.target)} in {source.text}"
    return StatementKind.FOR, source, tuple(_unpacked(node.target, element)), text


def _with(node: ast.With | ast.AsyncWith) -> _Read:
    writes: list[WrittenTarget] = []
    for item in node.items:
        value = expression(item.context_expr)
        if item.optional_vars is not None:
            entered = Expression(value.text, Form.ENTERED, value.position, (value,))
            writes += _unpacked(item.optional_vars, entered)
    text = f"with {', '.join(text_of(each) for each in node.items)}"
    return StatementKind.WITH, expression(node.items[0].context_expr), tuple(writes), text


def _condition(node: ast.If | ast.While) -> _Read:
    kind = StatementKind.IF if isinstance(node, ast.If) else StatementKind.WHILE
    value = expression(node.test)
    return kind, value, (), f"{kind.value} {value.text}"


def _except(node: ast.ExceptHandler) -> _Read:
    text = "except" + (f" {text_of(node.type)}" if node.type is not None else "")
    if node.name is None:
        return StatementKind.EXCEPT, None, (), text
    target = Expression(node.name, Form.NAME, position_of(node), name=node.name)
    caught = Expression(text, Form.CAUGHT, position_of(node))
    return StatementKind.EXCEPT, None, (WrittenTarget(target, caught),), f"{text} as {node.name}"


def _return(node: ast.Return) -> _Read:
    value = expression(node.value) if node.value is not None else None
    return StatementKind.RETURN, value, (), ""


def _raise(node: ast.Raise) -> _Read:
    value = expression(node.exc) if node.exc is not None else None
    return StatementKind.RAISE, value, (), ""


def _assert(node: ast.Assert) -> _Read:
    value = expression(node.test)
    return StatementKind.ASSERT, value, (), f"assert {value.text}"


def _expression_statement(node: ast.Expr) -> _Read:
    value = expression(node.value)
    yields = isinstance(node.value, ast.Yield | ast.YieldFrom)
    return StatementKind.YIELD if yields else StatementKind.PLAIN, value, (), ""


def _match(node: ast.Match) -> _Read:
    value = expression(node.subject)
    captures: list[WrittenTarget] = []
    for case in node.cases:
        for pattern in ast.walk(case.pattern):
            name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
            if name:
                target = Expression(name, Form.NAME, value.position, name=name)
                element = Expression(value.text, Form.OTHER, value.position, (value,))
                captures.append(WrittenTarget(target, element))
    return StatementKind.CASE, value, tuple(captures), f"match {value.text}"


def _define(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> _Read:
    target = Expression(node.name, Form.NAME, position_of(node), name=node.name)
    value = Expression(node.name, Form.DEFINITION, position_of(node))
    word = "class" if isinstance(node, ast.ClassDef) else "def"
    return StatementKind.DEFINITION, None, (WrittenTarget(target, value),), f"{word} {node.name}"


def _import(node: ast.Import | ast.ImportFrom) -> _Read:
    writes = []
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        target = Expression(name, Form.NAME, position_of(node), name=name)
        writes.append(WrittenTarget(target, Expression(name, Form.DEFINITION, position_of(node))))
    return StatementKind.DEFINITION, None, tuple(writes), ""


_READERS: dict[type[ast.AST], Callable[[Any], _Read]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.If: _condition,
    ast.While: _condition,
    ast.ExceptHandler: _except,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Expr: _expression_statement,
    ast.Match: _match,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _define,
    ast.Import: _import,
    ast.ImportFrom: _import,
}


def _unpacked(target: ast.expr, value: Expression) -> Iterator[WrittenTarget]:
    """Yield an assignment for each name, field and element of a target."""
    if not isinstance(target, ast.Tuple | ast.List):
        inner = target.value if isinstance(target, ast.Starred) else target
        yield WrittenTarget(expression(inner), value)
        return
    starred = [isinstance(each, ast.Starred) for each in target.elts]
    plain = not any(starred) and "*" not in value.labels
    for index, each in enumerate(target.elts):
        if (
            value.form is Form.DISPLAY
            and value.name in ("tuple", "list")
            and plain
            and len(value.operands) == len(target.elts)
        ):
            yield from _unpacked(each, value.operands[index])
        elif any(starred[: index + 1]):
            rest = Expression(value.text, Form.OTHER, value.position, (value,))
            yield from _unpacked(each, rest)
        else:
            item = Expression(value.text, Form.ITEM, value.position, (value,), f"[{index}]")
            yield from _unpacked(each, item)


def _walrus(node: _Header) -> Iterator[WrittenTarget]:
    """Yield the assignments inside of a statement's own expressions."""
    stack: list[ast.AST] = [node]
    while stack:
        for child in ast.iter_child_nodes(stack.pop()):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case | ast.Lambda):
                continue
            if isinstance(child, ast.NamedExpr):
                yield WrittenTarget(expression(child.target), expression(child.value))
            stack.append(child)


def _siblings_before(parent: ast.AST, node: ast.AST) -> list[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and node in block:
            return block[: block.index(node)]
    return []


def _leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether the end of a block is never reached."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break)


def _parameters(args: ast.arguments) -> tuple[Parameter, ...]:
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    found = [
        Parameter(each.arg, expression(default) if default is not None else None)
        for each, default in zip(positional, defaults, strict=True)
    ]
    if args.vararg is not None:
        found.append(Parameter(args.vararg.arg, star="*"))
    found += [
        Parameter(each.arg, expression(default) if default is not None else None, "=")
        for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
    ]
    if args.kwarg is not None:
        found.append(Parameter(args.kwarg.arg, star="**"))
    return tuple(found)
