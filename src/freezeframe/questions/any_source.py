"""What each line of a source file reads, writes and decides, for languages without a parser here.

Statements are recognised by the words and marks that C, C++, Go, Java, JavaScript, TypeScript,
Rust, Ruby, PHP and their relatives share; blocks by their indentation. A line that is not
recognised writes nothing that is known, so that a chain ends there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from freezeframe.model import late_regex
from freezeframe.session.source_cache import enclosing_block

from .any_expressions import any_expression, path_text
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
from .source_patterns import STRING, closing, code_of, pieces

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
_HEAD = late_regex.compile(
    r"[}\s]*(?P<word>else if|elsif|elif|else|if|unless|while|until|for|foreach|switch|match|catch"
    r"|rescue|except|case|when)\b\s*(?P<rest>.*)",
    re.DOTALL,
)
_EACH = late_regex.compile(
    r"\(?\s*(?:(?:const|let|var|auto|final|[\w<>&*:]+)\s+)?(?P<names>[@$&]?\w+(?:\s*,\s*[@$&]?\w+)*|\[[^\]]*\])"
    r"\s*(?:of|in|:=\s*range|:|as)\s+(?P<source>.*?)\s*\)?\s*(?:\{|do|:)?$",
    re.DOTALL,
)
_PHP_EACH = late_regex.compile(
    r"\(?\s*(?P<source>\$[\w>\[\]'\"-]+)\s+as\s+(?:\$\w+\s*=>\s*)?(?P<names>&?\$\w+)\s*\)?"
)
_LEADING = late_regex.compile(
    r"(?P<word>return|throw|raise|assert\w*!?|yield|panic!?)\b\(?\s*(?P<rest>.*)"
)
#: an arm of a match: `None => return Ok(out),`
_ARM = late_regex.compile(r"[^=]+?\s=>\s*(?P<value>[^{\s].*)", re.DOTALL)
#: a call: `assert.equal(a, b)`, `assert_eq!(a, b)`; not Java's `assert a == b`
_ASSERTING = late_regex.compile(r"assert\w*!?[.(]")
_FUNCTION = late_regex.compile(r"\((?P<inside>[^()]*(?:\([^()]*\)[^()]*)*)\)")
_IDENTIFIER = late_regex.compile(r"[@$]?[^\W\d]\w*")
#: how far a statement may go on over the next lines
_MOST_LINES = 30
_CONTINUES = ("&&", "||", "+", "=", ",", "?", "\\", "|", "(", "[")
_CONTINUED = (".", "&&", "||", "?", "+", "|>")
_CONDITIONS = {
    "if": StatementKind.IF,
    "else if": StatementKind.IF,
    "elsif": StatementKind.IF,
    "elif": StatementKind.IF,
    "unless": StatementKind.IF,
    "while": StatementKind.WHILE,
    "until": StatementKind.WHILE,
}
_LOOPS = ("for", "foreach", "while", "until")
_HANDLERS = ("catch", "rescue", "except")


class AnySource:
    """A file in any language; nothing is refused."""

    def __init__(self, lines: Sequence[str], path: str) -> None:
        self._lines = [line.expandtabs(4) for line in lines]
        self._go = path.endswith(".go")
        self._has_arms = path.endswith(".rs")
        self._tail_returns = path.endswith((".rs", ".rb", ".ex", ".ml"))
        self._made: dict[int, Statement | None] = {}
        self._first: dict[int, int] = {}

    # --- what provenance asks

    def statement(self, line: int) -> Statement | None:
        first = self._first_line(line)
        if first not in self._made:
            self._made[first] = self._parsed(first)
        return self._made[first]

    def branches(self, statement: Statement) -> tuple[Branch, ...]:
        found: list[Branch] = []
        depth = self._indent(statement.first)
        begin, _ = enclosing_block(self._lines, statement.first)
        at = statement.first - 1
        while at > begin and depth > 0:
            text = self._code(at)
            if text and self._indent(at) < depth:
                depth = self._indent(at)
                head = _HEAD.match(text)
                branch = self._branch(at, head["word"]) if head is not None else None
                if branch is not None:
                    found.append(branch)
            at -= 1
        return tuple(found)

    def exits(self, statement: Statement) -> tuple[EarlyExit, ...]:
        return ()

    def other_writes(self, statement: Statement, target: str) -> tuple[Statement, ...]:
        return ()

    def parameters(self, first_line: int) -> tuple[Parameter, ...]:
        first, last = enclosing_block(self._lines, first_line)
        if (first, last) == (1, len(self._lines)):
            return ()
        text = " ".join(self._code(line) for line in range(first, min(first + 12, last + 1)))
        groups = list(_FUNCTION.finditer(text.partition("{")[0]))
        if self._go and len(groups) > 1 and text.startswith("func ("):
            groups = groups[1:]
        if not groups:
            return ()
        inside = [each.strip() for each in pieces(groups[0]["inside"])]
        names = [self._parameter(each) for each in inside if each]
        return tuple(Parameter(name) for name in names if name not in ("self", "this", ""))

    def raises(self, first_line: int) -> tuple[Statement, ...]:
        return ()

    def bases(self, first_line: int) -> tuple[str, ...]:
        return ()

    def lambda_at(self, line: int) -> Expression | None:
        return None

    def call_at(self, position: Position) -> Expression | None:
        return None

    def expression(self, text: str) -> Expression | None:
        return any_expression(text) if text.strip() else None

    # --- lines

    def _code(self, line: int) -> str:
        return code_of(self._lines[line - 1]) if 0 < line <= len(self._lines) else ""

    def _indent(self, line: int) -> int:
        text = self._lines[line - 1]
        return len(text) - len(text.lstrip())

    def _first_line(self, line: int) -> int:
        """Return the line that the statement at *line* begins with."""
        for first in range(max(1, line - _MOST_LINES), line):
            if self._code(first) and self._last_line(first) >= line and self._begins(first):
                return first
        return line

    def _begins(self, line: int) -> bool:
        before = line - 1
        while before > 0 and not self._code(before):
            before -= 1
        return before < 1 or self._last_line(before) < line

    def _last_line(self, first: int) -> int:
        """Return the last line of a statement; a block that it opens is not part of it."""
        depth = 0
        for line in range(first, min(first + _MOST_LINES, len(self._lines)) + 1):
            text = STRING.sub('""', self._code(line))
            depth += sum(text.count(each) for each in "([") - sum(text.count(e) for e in ")]")
            if text.endswith(("{", ";", "}", "do", "|")) and not text.endswith("||"):
                return line
            if self._has_arms and depth <= 0 and " => " in text and text.endswith(","):
                return line
            following = self._code(line + 1)
            if (
                depth <= 0
                and not (text.endswith(_CONTINUES) and not text.endswith("++"))
                and not following.startswith(_CONTINUED)
            ):
                return line
        return first

    def _body_end(self, head: int) -> int:
        depth = self._indent(head)
        last = head
        for line in range(head + 1, len(self._lines) + 1):
            if not self._code(line):
                continue
            if self._indent(line) <= depth:
                break
            last = line
        return last

    # --- statements

    def _parsed(self, first: int) -> Statement | None:
        last = self._last_line(first)
        text = " ".join(self._code(line) for line in range(first, last + 1))
        if not text.strip("{}()[];, "):
            return None
        kind, writes, value = self._read(text, first, last)
        end = self._body_end(last)
        column = self._indent(first)
        shown = text.rstrip(" {")
        return Statement(kind, first, last, shown, writes, value, column, end, end)

    def _read(
        self, text: str, first: int, last: int
    ) -> tuple[StatementKind, tuple[WrittenTarget, ...], Expression | None]:
        head = _HEAD.match(text)
        if head is not None:
            loop, body = _one_line_loop(head["word"], head["rest"])
            if body:
                _, writes, made = self._header(head["word"], loop)
                _, more, _ = self._read(body, first, last)
                # No header: the steps that a debugger makes on the line are not the rounds. What
                # the body reads changes while the line is executed: no value of it is shown.
                return StatementKind.PLAIN, (*writes, *more), made
            return self._header(head["word"], head["rest"])
        text = text.rstrip("; ")
        arm = _ARM.match(text) if self._has_arms else None
        if arm is not None:
            text = arm["value"].rstrip(",; ")
        leading = _LEADING.match(text)
        if leading is not None and _ASSERTING.match(text):
            return StatementKind.ASSERT, (), any_expression(text)
        if leading is not None:
            return _led(leading["word"], text[len(leading["word"]) :].strip())
        stepped = _STEPPED.fullmatch(text)
        if stepped is not None:
            return _augmented(stepped["target"], stepped["operator"][0], "1")
        assignment = _ASSIGNMENT.fullmatch(text)
        if assignment is not None and _is_balanced(assignment["target"]):
            operator, value = assignment["operator"], assignment["value"]
            if operator not in ("=", ":="):
                return _augmented(assignment["target"], operator[:-1], value)
            return _assigned(assignment["target"], value)
        # The rest of a chain of calls: what it begins with is on lines before.
        made = any_expression(f"_{text}" if text.startswith(".") else text)
        if self._tail_returns and self._is_tail(last):
            return StatementKind.RETURN, (), made
        return StatementKind.PLAIN, (), made

    def _is_tail(self, line: int) -> bool:
        """Whether a line is the last one of its block: its value is the result of the block."""
        following = line + 1
        while following <= len(self._lines) and not self._code(following):
            following += 1
        if self._lines[line - 1].rstrip().endswith((";", "{")) or following > len(self._lines):
            return False
        return self._code(following) in ("}", "end") and self._indent(following) < self._indent(
            line
        )

    def _header(
        self, word: str, rest: str
    ) -> tuple[StatementKind, tuple[WrittenTarget, ...], Expression | None]:
        rest = rest.strip()
        kind = _CONDITIONS.get(word)
        if kind is not None:
            return kind, (), any_expression(_condition(rest))
        if word in _HANDLERS:
            return StatementKind.EXCEPT, (), None
        if word not in ("for", "foreach"):
            return StatementKind.PLAIN, (), None
        return StatementKind.FOR, *_loop(rest)

    def _branch(self, line: int, word: str) -> Branch | None:
        if word in ("else", "else if", "elsif", "elif"):
            if word == "else":
                above = self._head_above(line)
                return Branch(above, False) if above is not None else None
            word = "if"
        statement = self.statement(line)
        if statement is None or statement.kind is StatementKind.PLAIN:
            return None
        return Branch(statement, True)

    def _head_above(self, line: int) -> Statement | None:
        """Return the `if` that an `else` belongs to."""
        depth = self._indent(line)
        for above in range(line - 1, 0, -1):
            if self._code(above) and self._indent(above) == depth:
                head = _HEAD.match(self._code(above))
                if head is not None and head["word"] in _CONDITIONS:
                    return self.statement(above)
                if head is None and self._code(above).strip("}){ "):
                    return None
        return None

    def _parameter(self, text: str) -> str:
        text = text.partition("=")[0].strip()
        if ":" in text and "::" not in text:
            text = text.partition(":")[0]
        names = _IDENTIFIER.findall(text)
        if not names:
            return ""
        return str(names[0] if self._go else names[-1])


_Read = tuple[StatementKind, tuple[WrittenTarget, ...], Expression | None]


def _one_line_loop(word: str, rest: str) -> tuple[str, str]:
    """Return the head and the body of a loop that has both on one line; else no body."""
    end = closing(rest) if word in _LOOPS and rest.startswith("(") else None
    if end is None:
        return rest, ""
    body = rest[end + 1 :].strip()
    if body.startswith("{"):
        body = body[1:].removesuffix("}")
    return rest[: end + 1], body.strip("; ")


def _led(word: str, rest: str) -> _Read:
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


def _augmented(target: str, operator: str, value: str) -> _Read:
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


def _assigned(targets: str, text: str) -> _Read:
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


def _loop(rest: str) -> tuple[tuple[WrittenTarget, ...], Expression | None]:
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


def _condition(rest: str) -> str:
    """Return the condition of a header, without the brackets and words around it."""
    text = rest.rstrip(" {:").removesuffix(" then").removesuffix(" do").strip()
    if ";" in text and not text.startswith("("):
        text = text.rpartition(";")[2].strip()  # Go: `if err := f(); err != nil`
    if text.startswith("(") and closing(text) is not None:
        end = closing(text) or 0
        return text[1:end]
    return text


def _is_balanced(text: str) -> bool:
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))
