"""Expressions of C-like languages, Ruby and PHP in the form that provenance reads.

Their operators, calls, fields and elements are those of Python under other spellings: the text is
respelled and parsed as Python. What is not alike (blocks, closures, literals of structures) becomes
an expression of form `OTHER` with the variables, fields and calls that it names.
"""

from __future__ import annotations

import re
from dataclasses import replace

from freezeframe.model import late_regex

from .expressions import Expression, Form
from .python_expressions import parsed
from .source_patterns import pieces

_TOKEN = late_regex.compile(
    r"(?P<space>\s+)|(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`)"
    r"|(?P<number>\d[\w.]*)|(?P<name>[@$]{0,2}[^\W\d]\w*[!?]?)"
    r"|(?P<operator>===|!==|->|::|\?\.|\?\?|&&|\|\||\+\+|--|<=|>=|==|!=|<<|>>|\*\*|=>|\.\.\.|.)",
    re.DOTALL,
)
_OPERATORS = {
    "&&": " and ",
    "||": " or ",
    "??": " or ",
    "===": "==",
    "!==": "!=",
    "->": ".",
    "::": ".",
    "?.": ".",
    "++": "",
    "--": "",
    "...": "*",
}
_KEYWORDS = {
    "true": "True",
    "false": "False",
    "null": "None",
    "nil": "None",
    "undefined": "None",
    "nullptr": "None",
    "NULL": "None",
    **dict.fromkeys(("new", "await", "mut", "move", "const", "typeof", "void", "ref"), ""),
    "instanceof": "==",
    "eq": "==",
    "ne": "!=",
}
_NUMBER = late_regex.compile(r"(0[xX][0-9a-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d+)?(?:[eE]-?\d+)?)")
_CAST = late_regex.compile(
    r"\s+as\s+[\w<>]+|\(\s*(?:unsigned\s+)?(?:int|long|char|double|float|size_t"
    r"|short|uint\d+_t|int\d+_t)\s*\*?\s*\)(?=\s*[\w(])"
)
_HOLE = late_regex.compile(r"[$#]\{([^{}]*)\}")
_PATH = late_regex.compile(r"[@$]{0,2}[^\W\d]\w*(?:(?:\.|->|::)[^\W\d]\w*)*")
#: spellings of the first characters of a variable that Python's names cannot have
_SIGILS = (("@@", "ff_class_"), ("@", "ff_field_"), ("$", "ff_dollar_"))
#: names of other languages that are words of Python
_PYTHON_KEYWORDS = frozenset(
    ("assert", "from", "with", "def", "del", "import", "class", "pass", "raise", "global")
) | frozenset(("except", "as", "nonlocal", "try", "finally", "async", "print", "is"))
_KEYWORD = "ff_word_"
#: the name that replaces an argument that is not alike
_FOREIGN = "ff_argument_"
_BEFORE_OPERAND = frozenset("([{,=+-*/%<>!&|?:~^")


def any_expression(text: str) -> Expression:
    """Return an expression of any language; `OTHER` with what it names if it cannot be parsed."""
    text = " ".join(text.split())
    made = parsed(respelled(text)) if len(text) < 2000 else None
    if made is None and len(text) < 2000 and (call := _call(text)) is not None:
        return call
    if made is None:
        named = dict.fromkeys(match[0] for match in _PATH.finditer(_without_texts(text)))
        found = [parsed(respelled(each)) for each in named]
        operands = tuple(
            _restored(each) for each in found if each is not None and each.form is not Form.CONSTANT
        )
        return Expression(text, Form.OTHER, operands=operands)
    return replace(_restored(made), text=text)


def _call(text: str) -> Expression | None:
    """Return an expression with calls some of whose arguments are not alike in Python.

    Such an argument (`[]int{1, 2}`, `x => x + 1`, `key: 1`) is parsed as a name, and then put back
    as the expression of form `OTHER` that it is. None if the rest cannot be parsed either.
    """
    foreign: dict[str, Expression] = {}
    tokens = list(_TOKEN.finditer(text))
    made, copied = "", 0
    for opened, closed in _arguments(tokens):
        start, end = tokens[opened].end(), tokens[closed].start()
        arguments = []
        for each in pieces(text[start:end]):
            is_alike = is_any_expression(each) and _choice(each) == each
            if not each.strip() or is_alike:
                arguments.append(each)
            else:
                name = f"{_FOREIGN}{len(foreign)}_"
                foreign[name] = any_expression(each)
                arguments.append(name)
        made += text[copied:start] + ",".join(arguments)
        copied = end
    found = parsed(respelled(made + text[copied:])) if foreign else None
    return replace(_put_back(_restored(found), foreign), text=text) if found is not None else None


def _arguments(tokens: list[re.Match[str]]) -> list[tuple[int, int]]:
    """Return the outermost pairs of brackets of calls, as numbers of tokens."""
    found, depth, opened = [], 0, None
    before: re.Match[str] | None = None
    for number, match in enumerate(tokens):
        token = match[0]
        if token in ("(", "[", "{"):
            called = before is not None and (before.lastgroup == "name" or before[0] in ")]>")
            if token == "(" and depth == 0 and called:
                opened = number
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
            if depth == 0 and opened is not None:
                found.append((opened, number))
                opened = None
        before = match if match.lastgroup != "space" else before
    return found


def _put_back(node: Expression, foreign: dict[str, Expression]) -> Expression:
    if node.name in foreign:
        return foreign[node.name]
    text = node.text
    for name, each in foreign.items():
        text = text.replace(name, each.text)
    return replace(
        node, text=text, operands=tuple(_put_back(each, foreign) for each in node.operands)
    )


def source_text(part: str, whole: str) -> str:
    """Return a part of an expression as the source has it: `a === b`, not `a == b`."""
    if part in whole:
        return part
    tokens = [re.sub(r"\s+", "", match[0]) for match in _TOKEN.finditer(part)]
    written = {"==": "={2,3}", "!=": "!={1,2}", "and": "(?:and|&&)", "or": r"(?:or|\|\|)"}
    written |= {"not": "(?:not|!)", "None": r"\w+", "True": "[Tt]rue", "False": "[Ff]alse"}
    written["."] = r"(?:\.|->|::|\?\.)"
    pattern = r"\s*".join(written.get(each) or re.escape(each) for each in tokens if each)
    found = re.search(pattern, whole)
    return found[0] if found is not None else part


def is_any_expression(text: str) -> bool:
    return parsed(respelled(" ".join(text.split()))) is not None


def path_text(path: str) -> str:
    """Return the path of a value as expressions spell it: `c->total` is `c.total`."""
    return path.replace("->", ".")


def respelled(text: str) -> str:
    """Return *text* with the spellings of Python."""
    text = _CAST.sub("", text.strip())
    text = _choice(text)
    made: list[str] = []
    before = ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        kind = match.lastgroup
        if kind == "space":
            made.append(" ")
            continue
        if kind == "text":
            made.append(_text(token))
        elif kind == "number":
            number = _NUMBER.match(token)
            made.append(number[0] if number is not None else token)
        elif kind == "name":
            made.append(_name(token))
        elif token in "&*" and (not before or before[-1] in _BEFORE_OPERAND or before == "return"):
            pass  # an address or what it points to
        elif token == "!":
            made.append(" not ")
        elif token == "?":
            pass  # Rust's: an error returns
        else:
            made.append(_OPERATORS.get(token, token))
        before = token
    return "".join(made).strip()


def _name(token: str) -> str:
    if token in _KEYWORDS:
        return _KEYWORDS[token]
    if token.endswith(("!", "?")):
        token = token[:-1]
    if token in _PYTHON_KEYWORDS:
        return _KEYWORD + token
    for sigil, prefix in _SIGILS:
        if token.startswith(sigil):
            return prefix + token[len(sigil) :]
    return token


def _text(token: str) -> str:
    if token[0] == "`" or "#{" in token:
        holes = [respelled(hole) for hole in _HOLE.findall(token)]
        return (
            'f"' + " ".join(f"{{{hole}}}" for hole in holes) + '"' if holes else repr(token[1:-1])
        )
    return token


def _choice(text: str) -> str:
    """Return `a ? b : c` as Python's `b if a else c`, where it is outermost."""
    mark = _outermost(text, "?")
    if mark is None or text[mark + 1 : mark + 2] in (".", "?", ""):
        return text
    colon = _outermost(text[mark + 1 :], ":")
    if colon is None:
        return text
    then, other = text[mark + 1 : mark + 1 + colon], text[mark + 2 + colon :]
    return f"({_choice(then)}) if ({text[:mark]}) else ({_choice(other)})"


def _outermost(text: str, mark: str) -> int | None:
    depth = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in ("(", "[", "{"):
            depth += 1
        elif token in (")", "]", "}"):
            depth -= 1
        elif token == mark and depth == 0:
            return match.start()
    return None


def _without_texts(text: str) -> str:
    return re.sub(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", '""', text)


def _restored(node: Expression) -> Expression:
    """Return an expression with the variables' own spellings."""
    return replace(
        node,
        text=_original(node.text),
        name=_original(node.name),
        operands=tuple(_restored(each) for each in node.operands),
    )


def _original(text: str) -> str:
    for sigil, prefix in _SIGILS:
        text = text.replace(prefix, sigil)
    return text.replace(_KEYWORD, "")
