"""Which expression of a failing assertion holds the wrong value, in languages other than Python.

Assertions are recognised by the names that test libraries share: `assert.equal(got, want)`,
`expect(got).toBe(want)`, `EXPECT_EQ(got, want)`, `assert_eq!(got, want)`,
`assertEquals(want, got)`, `require.NoError(t, err)`, and `t.Errorf(…)` in a branch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from freezeframe.model import late_regex

from .any_source import AnySource
from .expressions import Statement, StatementKind
from .failing_expressions import RIGHT, FailingExpression
from .source_patterns import STRING, closing, pieces, without_texts

_CALL = late_regex.compile(r"(?P<path>[^\W\d]\w*(?:(?:\.|::|->)\w+)*)!?\s*(?:<[^()<>]*>)?\(")
#: `expect(got).…`, `assertThat(got).…`: the subject is the argument
_SUBJECT = re.compile(r"expect|assertThat|assert_that|that|EXPECT_THAT|ASSERT_THAT", re.I)
#: assertions about one value
_ONE = re.compile(
    r"(?:assert_?|expect_?|require_?|check_?|is_?|be_?|not_?)*"
    r"(?:true|false|ok|null|not_?null|nil|not_?nil|none|some|error|no_?error|err|not_?ok|throw|no_?throw"
    r"|empty|not_?empty|zero|not_?zero|positive|negative|present|is_?type|len|length|notEmpty)?",
    re.I,
)
_COMPARES = re.compile(
    r"(?:assert|expect|require|check|is|to|be|should|not|strict|deep|array|iterable|lines|json|same|"
    r"double|float|str|case|near|value|values|elements|match|matches|i|exactly|d|loosely|n|"
    r"_)*(?:eq|ne|lt|le|gt|ge|equals?|equal_?to|same|is|be|like|near|match\w*|contains?|includes?|"
    r"greater\w*|less\w*|in_?delta|close_?to)(?:_?values?|_?f)?",
    re.I,
)
#: calls of Go's testing package that end or fail a test: the branch around them decided
_REPORTS = late_regex.compile(
    r"\b\w+\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow|Log|Logf)\(|\b(?:log\.Fatal\w*|abort|exit|FAIL|ADD_FAILURE|fail)\b"
)
#: libraries whose equality takes the right value first
_RIGHT_FIRST = (".java", ".kt", ".scala", ".php", ".cs")
#: a value of Go's testing package, not one to compare
_CONTEXT = re.compile(r"t|tb|b|s\.T\(\)|suite\.T\(\)|c|it")
_NULL_OWNER = re.compile(r'because "(?P<name>[^"<]+)" is null')
_READING = re.compile(r"\((?:reading|setting|evaluating) '(?P<field>\w+)'\)")
_UNWRAPPED = late_regex.compile(r"\.(?:unwrap|expect|unwrap_err|expect_err)\(")
_LITERAL = re.compile(
    r"""-?[\d.]\w*(?:\.\d+)?|"(?:\\.|[^"\\])*"(?:\w*|\.to_string\(\)|\.into\(\))|'(?:\\.|[^'\\])*'"""
    r"""|`[^`$]*`|null|nil|None|undefined|nullptr|NULL|true|false|True|False|NaN"""
)
_PASSING = late_regex.compile(r"[\s}]*(?:(?:try|finally)\b.*)?$")
_COMPARISON = late_regex.compile(
    r"\s*(?P<operator>===|!==|==|!=|<=|>=|(?<![<-])<(?!<)|(?<![->])>(?!>))\s*"
)


def failing_assertion(
    lines: Sequence[str], path: str, line: int, message: str
) -> FailingExpression | None:
    """Return the expression behind the failure at *line*; None: what the statement evaluates."""
    source = AnySource(lines, path)
    statement = source.statement(line)
    if statement is None:
        return None
    if statement.kind is StatementKind.RAISE or _REPORTS.search(STRING.sub('""', statement.text)):
        found = _of_branch(source, statement)
        if found is not None:
            return found
    named = _NULL_OWNER.search(message)
    if named is not None:
        return FailingExpression(named["name"])
    found = _of_call(statement.text, path)
    if found is not None:
        return found
    reading = _READING.search(message)
    if reading is not None:
        return _owner(statement.text, reading["field"])
    return None


def passes_exceptions_on(lines: Sequence[str], line: int) -> bool:
    """Whether the line is the head or the end of a block: an exception of its inside left it here.

    Java closes the resources of a `try` at its head, and throws on from there.
    """
    return 0 < line <= len(lines) and _PASSING.match(lines[line - 1]) is not None


def _of_branch(source: AnySource, statement: Statement) -> FailingExpression | None:
    """Return what decided that a statement is executed: the branch around it."""
    for branch in source.branches(statement):
        if branch.header.kind is StatementKind.IF and branch.header.value is not None:
            return _of_condition(branch.header.value.text)
        if branch.header.kind is not StatementKind.FOR:
            break
    return None


def _of_call(text: str, path: str) -> FailingExpression | None:
    """Return the wrong side of the first assertion of a statement."""
    for match in _CALL.finditer(text):
        name = re.split(r"\.|::|->", match["path"])[-1]
        end = closing(text[match.end() - 1 :])
        if end is None:
            continue
        inside = text[match.end() : match.end() - 1 + end]
        arguments = [each.strip() for each in pieces(inside) if each.strip()]
        if arguments and _CONTEXT.fullmatch(arguments[0]) and path.endswith(".go"):
            arguments = arguments[1:]
        if not arguments:
            continue
        if _SUBJECT.fullmatch(name):
            return _of_subject(arguments, text[match.end() + end :])
        if _is_check(name):
            return _of_condition(arguments[0])
        if _ONE.fullmatch(name):
            return _of_condition(_without_message(arguments, path)[0])
        if _COMPARES.fullmatch(name) and len(arguments) > 1:
            first, second = _pair(arguments, path)
            right_first = path.endswith(_RIGHT_FIRST) or (
                path.endswith(".go") and "should" not in name.lower()
            )
            return _of_pair(first, second, right_first=right_first)
    unwrapped = _UNWRAPPED.search(text)
    if unwrapped is not None:
        begin = text[: unwrapped.start()]
        return FailingExpression(re.sub(r"^.*?(?<![=!<>])=(?![=>])\s*|^return\s+", "", begin))
    return None


def _is_check(name: str) -> bool:
    """Whether an assertion takes a condition: `CHECK(a == b)`, `assert(…)`, `REQUIRE(…)`."""
    return (
        re.fullmatch(r"(?:debug_)?(?:assert|check|require|ensure|verify)", name, re.I) is not None
    )


def _without_message(arguments: list[str], path: str) -> list[str]:
    """Return the arguments of an assertion of JUnit 4 without the message before them."""
    is_java = path.endswith(_RIGHT_FIRST)
    if is_java and len(arguments) > 1 and arguments[0].startswith('"'):
        return arguments[1:]
    return arguments


def _pair(arguments: list[str], path: str) -> tuple[str, str]:
    is_java = path.endswith(_RIGHT_FIRST)
    if is_java and len(arguments) > 2 and arguments[0].startswith('"'):
        arguments = arguments[1:]
    return arguments[0], arguments[1]


def _of_subject(arguments: list[str], rest: str) -> FailingExpression | None:
    """Return the subject of `expect(got).toBe(want)`, and what it was compared with."""
    matcher = _CALL.search(rest)
    compared = None
    if matcher is not None and _COMPARES.fullmatch(re.split(r"\.", matcher["path"])[-1]):
        end = closing(rest[matcher.end() - 1 :])
        if end is not None:
            compared = rest[matcher.end() : matcher.end() - 1 + end].strip() or None
    subject = _of_condition(arguments[0])
    if subject is None:
        return None
    return FailingExpression(subject.text, subject.compared or compared)


def _of_pair(left: str, right: str, *, right_first: bool) -> FailingExpression:
    """Return the side that is wrong: the one that is no literal and not named as right."""
    if _is_right(left) != _is_right(right):
        wrong, other = (right, left) if _is_right(left) else (left, right)
    elif ("(" in left) != ("(" in right):
        wrong, other = (left, right) if "(" in left else (right, left)
    else:
        wrong, other = (right, left) if right_first else (left, right)
    return FailingExpression(wrong, other)


def _of_condition(text: str) -> FailingExpression | None:
    text = text.strip()
    while text.startswith("!") and not text.startswith("!="):
        text = text[1:].strip()
    if text.startswith("(") and closing(text) == len(text) - 1:
        return _of_condition(text[1:-1])
    call = _CALL.match(text)
    if call is not None and closing(text[call.end() - 1 :]) == len(text) - call.end():
        arguments = [each.strip() for each in pieces(text[call.end() : -1]) if each.strip()]
        name = re.split(r"\.|::|->", call["path"])[-1]
        if _COMPARES.fullmatch(name) and len(arguments) == 2:
            return _of_pair(arguments[0], arguments[1], right_first=False)
        if name in ("isNaN", "len", "is_empty", "size", "is_none", "is_some") and arguments:
            return FailingExpression(arguments[0])
    sides = _compared_sides(text)
    if sides is not None:
        left, operator, right = sides
        found = _of_pair(left, right, right_first=False)
        is_equality = operator in ("==", "===", "!=", "!==")
        return found if is_equality else FailingExpression(found.text)
    return FailingExpression(text) if not _LITERAL.fullmatch(text) else None


def _compared_sides(text: str) -> tuple[str, str, str] | None:
    """Return the sides of a comparison, if the whole text is one."""
    plain = without_texts(text)
    if "&&" in plain or "||" in plain:
        return None
    depth = 0
    for index, char in enumerate(plain):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(char, 0)
        if depth == 0 and (match := _COMPARISON.match(plain, index)):
            left, right = text[: match.start()].strip(), text[match.end() :].strip()
            return (left, match["operator"], right) if left and right else None
    return None


def _is_right(text: str) -> bool:
    """Whether an expression holds the value that is right, by its form or its name."""
    text = text.strip().lstrip("&*")
    if _LITERAL.fullmatch(text) or text.startswith(("[", "{", "vec!", "Some(", "Ok(", "new ")):
        return True
    if re.match(r"(?:map)?\[[^\]]*\][\w.*\[\]{}]*\{|&?[A-Z][\w.]*\{", text):
        return True  # literals of Go and Rust
    name = re.split(r"\.|->|::|\[", re.sub(r"\(.*", "", text, flags=re.S))
    last = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[-1]).lower()
    return bool(RIGHT.search(last)) or (last in ("out", "output", "result") and len(name) > 1)


def _owner(text: str, field: str) -> FailingExpression | None:
    """Return what the field was read of: it is null or undefined."""
    match = re.search(rf"([\w$.\[\]()'\"]+?)\s*(?:\.|\[['\"])\s*{re.escape(field)}\b", text)
    return FailingExpression(match[1]) if match is not None else None
