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

from .any_expressions import any_expression
from .any_statements import (
    StatementParts,
    assignment,
    condition_text,
    declares,
    is_balanced,
    led_by,
    loop_head,
    one_line_loop,
)
from .expressions import (
    Branch,
    EarlyExit,
    Expression,
    Parameter,
    Position,
    Statement,
    StatementKind,
)
from .source_patterns import RETURN, STRING, closing, code_of, pieces, without_texts

_HEAD = late_regex.compile(
    r"[}\s]*(?P<word>else if|elsif|elif|else|if|unless|while|until|for|foreach|switch|match|catch"
    r"|rescue|except|case|when)\b\s*(?P<rest>.*)",
    re.DOTALL,
)
_LEADING = late_regex.compile(
    r"(?P<word>return|throw|raise|assert\w*!?|yield|panic!?)\b\(?\s*(?P<rest>.*)"
)
#: an arm of a match: `None => return Ok(out),`
_ARM = late_regex.compile(r"[^=]+?\s=>\s*(?P<value>[^{\s].*)", re.DOTALL)
#: a call: `assert.equal(a, b)`, `assert_eq!(a, b)`; not Java's `assert a == b`
_ASSERTING = late_regex.compile(r"assert\w*!?[.(]")
_FUNCTION = late_regex.compile(r"\((?P<inside>[^()]*(?:\([^()]*\)[^()]*)*)\)")
#: `interface{}`, `{a, b}`: no block of statements
_BRACES = late_regex.compile(r"\{[^{};]*\}")
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
_HANDLERS = ("catch", "rescue", "except")
#: an arm of a statement with several: what is above it is another arm
_ARM_HEAD = late_regex.compile(
    r"[}\s]*(?:else|elsif|elif|catch|rescue|except|ensure|finally|case|when|default)\b"
)
_LABEL = late_regex.compile(r"(?:case|when|default)\b|\w+:$")
_SWITCH = late_regex.compile(
    r"[}\s]*(?:.*[=(]\s*|return\s+)?(?:switch|match|case)\b(?!.*[:=]>?$)\s*(?P<subject>.*)"
)
_CASE = late_regex.compile(r"^(?:case|when)\s+")
#: Go: `switch v := x.(type)`
_TYPE_SWITCH = late_regex.compile(r"^\w+\s*:=\s*|\.\(type\)$")
_ELSE = late_regex.compile(r"[}\s]*else\s*\{?")
_LEAVING = late_regex.compile(r"(?:return|throw|break|continue|panic!?)\b(?!\s*[=.])")
_RUBY_LEAVING = late_regex.compile(r"(?:return|raise|throw|break|next)\b(?!\s*[=.])")
#: Ruby: `return nil if rows.empty?`
_MODIFIED = late_regex.compile(r".*\s(?P<word>if|unless)\s+(?P<condition>\S.*)")
_COMMENTS = ("//", "/*", "* ", "#")


class AnySource:
    """A file in any language; nothing is refused."""

    def __init__(self, lines: Sequence[str], path: str) -> None:
        self._lines = [line.expandtabs(4) for line in lines]
        self._go = path.endswith(".go")
        self._ruby = path.endswith(".rb")
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
            if text and text != "{" and self._indent(at) < depth:
                depth = self._indent(at)
                head = _HEAD.match(text)
                if self._is_arm(text):
                    branch = self._arm_of(at)
                else:
                    branch = self._branch(at, head["word"]) if head is not None else None
                if branch is not None:
                    found.append(branch)
            at -= 1
        return tuple(found)

    def exits(self, statement: Statement) -> tuple[EarlyExit, ...]:
        begin, _ = enclosing_block(self._lines, statement.first)
        depth = self._indent(statement.first)
        # In another arm of the same `if` or `switch`, what is before was not executed before.
        is_other_arm = _ARM_HEAD.match(self._code(statement.first)) is not None
        found: list[EarlyExit] = []
        for at in range(statement.first - 1, begin, -1):
            text = self._code(at)
            if not text.strip("{}()[];, ") or text == "end" or self._indent(at) > depth:
                continue
            if self._indent(at) < depth:
                depth = self._indent(at)
                is_other_arm = _ARM_HEAD.match(text) is not None
            elif is_other_arm or _LABEL.match(text):
                is_other_arm = _ARM_HEAD.match(text) is not None
            else:
                found += self._exits_at(at, text)
        return tuple(found)

    def other_writes(self, statement: Statement, target: str) -> tuple[Statement, ...]:
        first, last = enclosing_block(self._lines, statement.first)
        name = _IDENTIFIER.findall(target)[-1:]
        found: list[Statement] = []
        for line in range(first + 1, last + 1):
            text = self._code(line)
            if line == statement.first or not name or name[0] not in text:
                continue
            if text.startswith(_COMMENTS) or not any(each in text for each in ("=", "++", "--")):
                continue
            made = self.statement(line)
            if made is None or made.first != line or made.kind is not StatementKind.PLAIN:
                continue
            if any(each.target.text == target for each in made.writes) and not declares(made.text):
                found.append(made)
        return tuple(found)

    def parameters(self, first_line: int) -> tuple[Parameter, ...]:
        first, last = enclosing_block(self._lines, first_line)
        if (first, last) == (1, len(self._lines)):
            return ()
        text = " ".join(self._code(line) for line in range(first, min(first + 12, last + 1)))
        groups = list(_FUNCTION.finditer(_BRACES.sub("_", text).partition("{")[0]))
        if self._go and len(groups) > 1 and text.startswith("func ("):
            groups = groups[1:]
        if not groups:
            return ()
        inside = [each.strip() for each in pieces(groups[0]["inside"])]
        names = [self._parameter(each) for each in inside if each]
        return tuple(Parameter(name) for name in names if name not in ("self", "this", ""))

    def raises(self, first_line: int) -> tuple[Statement, ...]:
        return ()

    def returns(self, first_line: int) -> tuple[Statement, ...]:
        first, last = enclosing_block(self._lines, first_line)
        lines = [line for line in range(first, last + 1) if RETURN.match(self._code(line))]
        return tuple(made for each in lines if (made := self.statement(each)) is not None)

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
            if depth <= 0 and not self._goes_on(text) and not following.startswith(_CONTINUED):
                return line
        return first

    def _goes_on(self, text: str) -> bool:
        """Whether a line ends with a mark that wants an operand; `empty?` of Ruby is a name."""
        if text.endswith("++") or (self._ruby and text[-2:-1].isalnum() and text[-1] == "?"):
            return False
        return text.endswith(_CONTINUES)

    def _body_end(self, first: int, last: int) -> int:
        """Return the last line of the block that the statement of these lines opens."""
        depth = self._indent(first)
        end = last
        for line in range(last + 1, len(self._lines) + 1):
            text = self._code(line)
            if not text or (text == "{" and end == last):
                continue
            if self._indent(line) <= depth:
                break
            end = line
        return end

    # --- statements that leave a block

    def _exits_at(self, line: int, text: str) -> list[EarlyExit]:
        """Return how a statement beside another one could have left their block."""
        modified = _MODIFIED.fullmatch(without_texts(text)) if self._ruby else None
        if modified is not None and is_balanced(modified["condition"]) and self._leaves(text):
            rest = text[modified.start("condition") :]
            condition = self._header(modified["word"], rest)[2]
            header = Statement(StatementKind.IF, line, line, text, (), condition, end=line)
            return [EarlyExit(header, True)]
        head, made = _HEAD.match(text), self.statement(line)
        if head is None or made is None or made.first != line or text.startswith("}"):
            return []
        if made.kind in (StatementKind.FOR, StatementKind.WHILE):
            inner = [self.statement(at) for at in range(made.body_end, made.last, -1)]
            return [
                EarlyExit(each, True)
                for each in dict.fromkeys(inner)
                if each is not None
                and each.kind is StatementKind.IF
                and self._leaving(each).startswith("return")
            ]
        if head["word"] not in ("if", "unless"):
            return []
        if self._leaving(made):
            return [EarlyExit(made, True)]
        other = self._following(made.body_end)
        if _ELSE.fullmatch(self._code(other)) and self._indent(other) == self._indent(line):
            arm = self.statement(other)
            if arm is not None and self._leaving(arm):
                return [EarlyExit(made, False)]
        return []

    def _leaving(self, header: Statement) -> str:
        """Return the statement at the end of a body if it leaves the block; empty if it does not.

        One that leaves only under another condition does not.
        """
        body = [
            line
            for line in range(header.last + 1, header.body_end + 1)
            if self._code(line).strip("{}()[];, ")
        ]
        if not body:
            text = " ".join(self._code(at) for at in range(header.first, header.last + 1))
            opened = text.find("(")
            end = closing(text[opened:]) if opened >= 0 else None
            text = text[opened + end + 1 :].lstrip(" {") if end is not None else ""
        else:
            depth = self._indent(body[0])
            text = self._code([each for each in body if self._indent(each) == depth][-1])
        return text if self._leaves(text) and _MODIFIED.fullmatch(text) is None else ""

    def _leaves(self, text: str) -> bool:
        return (_RUBY_LEAVING if self._ruby else _LEAVING).match(text) is not None

    def _following(self, line: int) -> int:
        """Return the next line with code that is not only a closing bracket."""
        line += 1
        while line < len(self._lines) and self._code(line) in ("", "}"):
            line += 1
        return line

    # --- statements

    def _parsed(self, first: int) -> Statement | None:
        last = self._last_line(first)
        text = " ".join(self._code(line) for line in range(first, last + 1))
        if not text.strip("{}()[];, "):
            return None
        kind, writes, value = self._read(text, first, last)
        end = self._body_end(first, last)
        column = self._indent(first)
        shown = text.rstrip(" {")
        return Statement(kind, first, last, shown, writes, value, column, end, end)

    def _read(self, text: str, first: int, last: int) -> StatementParts:
        head = _HEAD.match(text)
        if head is not None:
            loop, body = one_line_loop(head["word"], head["rest"])
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
            return led_by(leading["word"], text[len(leading["word"]) :].strip())
        written = assignment(text)
        if written is not None:
            return written
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

    def _header(self, word: str, rest: str) -> StatementParts:
        rest = rest.strip()
        kind = _CONDITIONS.get(word)
        if kind is not None:
            condition = condition_text(rest)
            if word in ("unless", "until"):
                condition = f"!({condition})"
            return kind, (), any_expression(condition)
        if word in _HANDLERS:
            return StatementKind.EXCEPT, (), None
        if word not in ("for", "foreach"):
            return StatementKind.PLAIN, (), None
        return StatementKind.FOR, *loop_head(rest)

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

    def _is_arm(self, text: str) -> bool:
        return _LABEL.match(text) is not None or (self._has_arms and " => " in text)

    def _arm_of(self, line: int) -> Branch | None:
        """Return what chose the arm that begins at *line*: the subject of its `switch`."""
        depth = self._indent(line)
        for above in range(line - 1, 0, -1):
            text = self._code(above)
            if not text or self._indent(above) > depth:
                continue
            head = _SWITCH.match(text)
            if head is not None:
                return self._chosen(above, line, head["subject"])
            is_other = self._is_arm(text) or not text.strip("{}()[];, ")
            if self._indent(above) < depth or not is_other:
                return None
        return None

    def _chosen(self, line: int, arm: int, subject: str) -> Branch | None:
        label = self._code(arm).partition(" => ")[0].rstrip(" {:")
        subject = _TYPE_SWITCH.sub("", condition_text(subject))
        if not subject:  # Go: `switch { case a > b:`
            condition = label.removeprefix("case ")
            if condition == label:
                return None
            line, value, text = arm, any_expression(condition), condition
            kind, last = StatementKind.IF, self._last_line(arm)
        else:
            kind, last = StatementKind.CASE, self._last_line(line)
            value, text = any_expression(subject), f"{subject} is {_CASE.sub('', label)}"
        end = self._body_end(arm, self._last_line(arm))
        return Branch(
            Statement(kind, line, last, text, (), value, self._indent(line), end, end), True
        )

    def _head_above(self, line: int) -> Statement | None:
        """Return the `if` that an `else` belongs to."""
        depth = self._indent(line)
        for above in range(line - 1, 0, -1):
            if self._code(above) and self._indent(above) == depth:
                head = _HEAD.match(self._code(above))
                if head is not None:
                    made = self.statement(above)
                    return made if made is not None and made.kind is StatementKind.IF else None
                if self._code(above).strip("}){ "):
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
