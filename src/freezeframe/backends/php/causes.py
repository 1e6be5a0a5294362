"""The exception that a `throw` passes on as the previous one.

No PHP debugger gives access to an exception that is being thrown. The variable that its constructor
was given is one of the frame's.
"""

from __future__ import annotations

from itertools import islice

from freezeframe import files

from . import LARGEST, read_tokens

#: tokens of one `throw` that are read
_LONGEST = 400


def passed_variable(path: str | None, line: int | None) -> tuple[str, int] | None:
    """Return the variable that `throw new` on a line passes on, and its position, or None.

    The position is -1 for the argument that is named `previous`.
    """
    if path is None or line is None:
        return None
    try:
        return find(files.read_text(path, LARGEST, errors="surrogateescape"), line)
    except (OSError, ValueError):
        return None


def find(text: str, line: int) -> tuple[str, int] | None:
    tokens = list(read_tokens(text))
    throws = [at for at, token in enumerate(tokens) if token == ("throw", line)]
    if len(throws) != 1:
        return None
    thrown = [text for text, _ in islice(tokens, throws[0] + 1, throws[0] + _LONGEST)]
    if len(thrown) < 3 or thrown[0] != "new" or thrown[2] != "(":
        return None
    for position, argument in reversed(list(enumerate(_arguments(thrown[3:])))):
        if argument[:2] == ["previous", ":"] and len(argument) == 3:
            return argument[2], -1
        if len(argument) == 1 and argument[0].startswith("$"):
            return argument[0], position
    return None


def _arguments(tokens: list[str]) -> list[list[str]]:
    """Return the arguments of a call up to its closing parenthesis."""
    found: list[list[str]] = [[]]
    depth = 0
    for token in tokens:
        if token in (")", "]", "}") and depth == 0:
            break
        depth += (token in ("(", "[", "{")) - (token in (")", "]", "}"))
        if token == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found


def chain(variable: str, type: str, position: int) -> str:
    """Return an expression for the messages of the previous exceptions, as text of lines.

    It is empty unless the constructor declares that argument as an exception: it may have taken the
    variable for something else. Only final methods are called.
    """
    name = type.replace("\\", "\\\\").replace("'", "")
    return (
        "(static function ($e) { try { "
        f"$c = (new \\ReflectionClass('{name}'))->getConstructor(); $l = []; "
        f"foreach ($c ? $c->getParameters() : [] as $i => $p) if ($i === {position} "
        f"|| ({position} < 0 && $p->getName() === 'previous')) "
        "$l[] = (string) $p->getType(); "
        "if (!preg_match('/Throwable|Exception|Error/', $l[0] ?? '')) return ''; $l = []; "
        "for (; $e instanceof \\Throwable && count($l) < 8; $e = $e->getPrevious()) "
        "$l[] = get_class($e) . ': ' . strtok($e->getMessage() . ' ', \"\\n\"); "
        "return implode(\"\\n\", $l); } catch (\\Throwable $x) { return ''; } "
        f"}})({variable} ?? null)"
    )
