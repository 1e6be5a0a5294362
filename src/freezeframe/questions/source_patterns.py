"""Patterns of source lines that most languages share: what a line is, not what it means."""

from __future__ import annotations

from freezeframe.model import late_regex

RETURN = late_regex.compile(r"return\b")
#: `throw new Error(…)`, `raise ValueError(…)`: what is raised
RAISE = late_regex.compile(r"(?:throw|raise)\s+(?:new\s+)?(?P<type>[\w.:]+)")
HANDLER = late_regex.compile(r"[}\s]*(?:except|catch|rescue|ensure|finally)\b")
#: a block or closure that the line may call: `each do |x|`, `map(x => …)`, `|x| …`, `lambda`
CLOSURE = late_regex.compile(
    r"\bdo\s*(?:\|[^|]*\|)?\s*$|\{\s*\|[^|]*\||=>|\bfunction\s*\(|\blambda\b|->\s*[\w{(]"
    r"|[(,=]\s*(?:move\s+)?\|[^|]*\||\bfunc\s*\([^)]*\).*\{$"
)
LOOP = late_regex.compile(
    r"[}\s]*(?:\w+:\s*)?(?:async\s+)?(?:for|foreach|while|until|loop|do|repeat)\b"
)
#: the line before the first one of a loop that has no head of its own
LOOP_BEFORE = late_regex.compile(r"[}\s]*(?:'?\w+:\s*)?(?:do|loop|repeat|begin)\b\s*\{?$")
CONDITION = late_regex.compile(r"[}\s]*(?:else\s+)?(?:if|elif|elsif|unless)\b")
#: a statement that leaves its block, after a condition on the same line
LEAVES = late_regex.compile(r"\b(?:return|break|continue|raise|throw|goto|panic!?|next)\b")
#: the end of a block
CLOSING = frozenset(("}", "};", "})", "});", "end"))
WORD = late_regex.compile(r"[^\W\d]\w*")
STRING = late_regex.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_COMMENT = late_regex.compile(r"\s+(?:#|//|--|/\*)(?:\s.*)?$")


def code_of(text: str) -> str:
    """Return a line of source without its indentation and a comment at its end."""
    return _COMMENT.sub("", text).strip()


def closing(text: str) -> int | None:
    """Return the index of the bracket that closes the one that a text begins with."""
    depth = 0
    for index, char in enumerate(without_texts(text)):
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth == 0:
            return index
    return None


def pieces(text: str) -> list[str]:
    """Return what commas separate, outside of brackets and texts."""
    found, depth, start = [], 0, 0
    for index, char in enumerate(without_texts(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            found.append(text[start:index])
            start = index + 1
    return [*found, text[start:]]


def without_texts(text: str) -> str:
    """Return code of the same length whose texts hold no brackets, commas and operators."""
    return STRING.sub(lambda match: '"' + "_" * (len(match[0]) - 2) + '"', text)


#: functions whose `with` block is to raise
EXPECTING = late_regex.compile(r"(?i)raises|assert_?raises(?:_?regexp?)?")
