"""What assignments, loops, conditions and results mean, in languages without a parser here."""

from __future__ import annotations

import re

from freezeframe.model import late_regex

from .any_expressions import any_expression, path_text
from .expressions import Expression, Form, StatementKind, WrittenTarget
from .source_patterns import closing, pieces

_ASSIGNMENT = late_regex.compile(
    r"(?P<target>[^=]*?[\w\])\"'>*&\s])\s*(?P<operator>:=|\+=|-=|\*=|/=|%=|\|=|&=|\^=|<<=|>>=|\|\|=|\?\?=|=)"
    r"(?![=>~])\s*(?P<value>\S.*)",
    re.DOTALL,
)
_STEPPED = late_regex.compile(r"(?P<target>[@$\w.\[\]>-]*[\w\]])\s*(?P<operator>\+\+|--);?")
_DECLARED = late_regex.compile(
    r"(?:(?:let|const|var|val|final|auto|mut|static|my|our|local|export|pub)\s+)+"
)
_TYPED = late_regex.compile(r"^(?P<name>[@$]?\w+)\s*:\s*[^:].*$")
_TARGET = late_regex.compile(r"[*]?[@$]{0,2}[^\W\d]\w*(?:(?:\.|->|::)\w+|\[[^\]]*\])*$")
_EACH = late_regex.compile(
    r"\(?\s*(?:(?:const|let|var|auto|final|[\w<>&*:]+)\s+)?(?P<names>[@$&]?\w+(?:\s*,\s*[@$&]?\w+)*|\[[^\]]*\])"
    r"\s*(?:of|in|:=\s*range|:|as)\s+(?P<source>.*?)\s*\)?\s*(?:\{|do|:)?$",
    re.DOTALL,
)
_PHP_EACH = late_regex.compile(
    r"\(?\s*(?P<source>\$[\w>\[\]'\"-]+)\s+as\s+(?:\$\w+\s*=>\s*)?(?P<names>&?\$\w+)\s*\)?"
)
#: what goes on with a condition after a bracket that closes: `(a || b) && c`
_OPERATOR = late_regex.compile(r"\s*(?:&&|\|\||[=!]=|[<>]|[-+*/%]\s|and\b|or\b|\.)")

_LOOPS = ("for", "foreach", "while", "until")

StatementParts = tuple[StatementKind, tuple[WrittenTarget, ...], Expression | None]


def one_line_loop(word: str, rest: str) -> tuple[str, str]:
    """Return the head and the body of a loop that has both on one line; else no body."""
    end = closing(rest) if word in _LOOPS and rest.startswith("(") else None
    if end is None:
        return rest, ""
    body = rest[end + 1 :].strip()
    if body.startswith("{"):
        body = body[1:].removesuffix("}")
    return rest[: end + 1], body.strip("; ")


def led_by(word: str, rest: str) -> StatementParts:
    value = any_expression(rest) if rest else None
    if word == "return":
        parts = [each for each in pieces(rest) if each.strip()]
        if len(parts) > 1:
            operands = tuple(any_expression(each) for each in parts)
            value = Expression(
                rest, Form.DISPLAY, operands=operands, name="tuple", labels=("",) * len(operands)
            )
        return StatementKind.RETURN, (), value
    if word in ("throw", "raise", "panic", "panic!"):
        return StatementKind.RAISE, (), value
    if word == "yield":
        return StatementKind.YIELD, (), value
    return StatementKind.ASSERT, (), value


def assignment(text: str) -> StatementParts | None:
    """Return what an assignment or an increment writes; None for other statements."""
    stepped = _STEPPED.fullmatch(text)
    if stepped is not None:
        return _augmented(stepped["target"], stepped["operator"][0], "1")
    match = _ASSIGNMENT.fullmatch(text)
    if match is None or not is_balanced(match["target"]):
        return None
    operator, value = match["operator"], match["value"]
    if operator not in ("=", ":="):
        return _augmented(match["target"], operator[:-1], value)
    return _assigned(match["target"], value)


def _augmented(target: str, operator: str, value: str) -> StatementParts:
    changed, added = _target(target), any_expression(value)
    if changed is None:
        return StatementKind.PLAIN, (), added
    both = Expression(
        f"{changed.text} {operator} {added.text}",
        Form.OPERATION,
        operands=(changed, added),
        name=operator,
    )
    return StatementKind.PLAIN, (WrittenTarget(changed, both, augmented=True),), both


def _assigned(targets: str, text: str) -> StatementParts:
    value = any_expression(text)
    targets = _DECLARED.sub("", targets.strip(), 1).strip()
    if targets.startswith(("(", "[", "{")):
        targets = targets[1:-1]
    names = [_target(each) for each in pieces(targets)]
    found = [each for each in names if each is not None]
    if len(found) != len(names) or not found:
        return StatementKind.PLAIN, (), value
    if len(found) == 1:
        return StatementKind.PLAIN, (WrittenTarget(found[0], value),), value
    values = [any_expression(each) for each in pieces(text)]
    if len(values) != len(found):
        values = [
            Expression(value.text, Form.ITEM, operands=(value,), name=f"[{index}]")
            for index in range(len(found))
        ]
    writes = tuple(WrittenTarget(a, b) for a, b in zip(found, values, strict=True))
    return StatementKind.PLAIN, writes, value


def _target(text: str) -> Expression | None:
    """Return what is written: the last path of a declaration, `total` of `int total`."""
    text = _DECLARED.sub("", text.strip(), 1).strip()
    typed = _TYPED.match(text)
    match = _TARGET.search(typed["name"] if typed is not None else text)
    if match is None:
        return None
    return any_expression(path_text(match[0].lstrip("*")))


def loop_head(rest: str) -> tuple[tuple[WrittenTarget, ...], Expression | None]:
    each = _PHP_EACH.match(rest) or _EACH.match(rest)
    if each is None or ";" in rest:
        begin = rest.lstrip("( ").partition(";")[0]
        assignment = _ASSIGNMENT.fullmatch(begin)
        if assignment is None:
            return (), None
        _, writes, value = _assigned(assignment["target"], assignment["value"])
        step = rest.rstrip("{ ").rstrip(") ").rpartition(";")[2].strip()
        stepped = _STEPPED.fullmatch(step)
        if stepped is not None:
            _, more, _ = _augmented(stepped["target"], stepped["operator"][0], "1")
            writes = (*writes, *more)
        return writes, value
    source = any_expression(each["source"])
    element = Expression(source.text, Form.ELEMENT, operands=(source,))
    names = [_target(name) for name in pieces(each["names"].strip("[]&"))]
    if "range" in rest and len(names) == 2 and names[1] is not None:
        return (WrittenTarget(names[1], element),), source
    if len(names) == 1 and names[0] is not None and ":= range" not in rest:
        return (WrittenTarget(names[0], element),), source
    return (), source


def condition_text(rest: str) -> str:
    """Return the condition of a header, without the brackets and words around it."""
    text = rest.rstrip(" {:").removesuffix(" then").removesuffix(" do").strip()
    if ";" in text and not text.startswith("("):
        text = text.rpartition(";")[2].strip()  # Go: `if err := f(); err != nil`
    if text.startswith("(") and closing(text) is not None:
        end = closing(text) or 0
        if _OPERATOR.match(text[end + 1 :]) is None:
            return text[1:end]
    return text


def declares(text: str) -> bool:
    """Whether an assignment declares what it writes: a variable of its own in an inner block."""
    assignment = _ASSIGNMENT.match(text)
    if assignment is None:
        return False
    targets = pieces(re.sub(r"\[[^\]]*\]", "", assignment["target"]))
    return assignment["operator"] == ":=" or any(" " in each.strip() for each in targets)


def is_balanced(text: str) -> bool:
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))
