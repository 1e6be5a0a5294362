"""Insert or remove one entry of another program's configuration file; the rest stays. No I/O.

JSON may have comments and trailing commas. TOML is edited by tables. Order, indentation, comments
and line ends stay. The result is parsed and compared with the intended data, so a file that is not
understood is refused, never corrupted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass, field

_BOM = "\ufeff"
_SCALAR = late_regex.compile(r"true\b|false\b|null\b|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_SPACE = late_regex.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = late_regex.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_DEEPEST = 100


class UnreadableConfig(ValueError):
    """The file cannot be parsed, or the entry cannot be inserted."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why if line is None else f"line {line}: {why}")


# --- JSON -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Node:
    """A value and its position; for an object also its members."""

    value: Any
    start: int
    end: int
    members: dict[str, _Node] = field(default_factory=dict)
    #: the end of the last text before the closing bracket, comments included
    inside: int = 0
    #: the last member has a trailing comma
    comma: bool = False


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 1 if text.startswith(_BOM) else 0

    def document(self) -> _Node | None:
        """Return the top-level value; None for an empty file."""
        self._skip()
        if self._at == len(self._text):
            return None
        node = self._value(0)
        self._skip()
        if self._at != len(self._text):
            self._fail("there is more text after the end")
        return node

    def _skip(self) -> int:
        """Skip whitespace and comments; return the end of the last comment."""
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        start, self._at = self._at, found.end()
        return start + len(self._text[start : self._at].rstrip())

    def _value(self, depth: int) -> _Node:
        if depth > _DEEPEST:
            self._fail("it is nested too deeply")
        start = self._at
        sign = self._text[start : start + 1]
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._list(depth)
        if sign == '"':
            return _Node(self._string(), start, self._at)
        found = _SCALAR.match(self._text, start)
        if found is None:
            self._fail(
                "a value is missing" if sign in "]},:" else f"{sign!r} does not begin a value"
            )
        self._at = found.end()
        return _Node(json.loads(found[0]), start, self._at)

    def _string(self) -> str:
        found = _STRING.match(self._text, self._at)
        try:
            text = json.loads(found[0]) if found else None
        except ValueError:
            text = None
        if found is None or not isinstance(text, str):
            self._fail("a string does not end, or has an invalid character")
        self._at = found.end()
        return text

    def _object(self, depth: int) -> _Node:
        node = _Node({}, self._at, 0)
        self._at += 1
        while True:
            node.inside = self._skip()
            if self._closes("}"):
                break
            if node.members and not node.comma:
                self._fail("a comma is missing")
            if not self._text.startswith('"', self._at):
                self._fail("the name of a member is missing")
            name = self._string()
            self._skip()
            if not self._closes(":"):
                self._fail("a colon is missing")
            self._skip()
            member = self._value(depth + 1)
            # The last of two members with one name counts.
            node.members[name] = member
            node.value[name] = member.value
            self._skip_to_comma(node)
        node.end = self._at
        return node

    def _list(self, depth: int) -> _Node:
        node = _Node([], self._at, 0)
        self._at += 1
        while True:
            node.inside = self._skip()
            if self._closes("]"):
                break
            if node.value and not node.comma:
                self._fail("a comma is missing")
            node.value.append(self._value(depth + 1).value)
            self._skip_to_comma(node)
        node.end = self._at
        return node

    def _skip_to_comma(self, node: _Node) -> None:
        before = self._at
        self._skip()
        node.comma = self._closes(",")
        if not node.comma:
            self._at = before

    def _closes(self, sign: str) -> bool:
        found = self._text.startswith(sign, self._at)
        self._at += found
        return found

    def _fail(self, why: str) -> NoReturn:
        raise UnreadableConfig(why, self._text.count("\n", 0, self._at) + 1)


def read_json(text: str) -> Any:
    """Return the data of a JSON file, {} for an empty one. Raises UnreadableConfig."""
    node = _Reader(text).document()
    return {} if node is None else node.value


def put_json(text: str, path: Sequence[str], value: Any) -> str:
    """Return *text* with *value* at *path*; missing objects are created.

    Raises UnreadableConfig.
    """
    root = _Reader(text).document()
    line_end = "\r\n" if "\r\n" in text else "\n"
    if root is None:
        made: Any = _nested(path, value)
        lead = text if not text.strip(_BOM + " \t\r\n") else text.rstrip() + line_end
        result = lead + _shown(made, "  ", "", line_end) + line_end
    else:
        result = _put(text, root, path, value, line_end)
    expected = _with({} if root is None else root.value, path, value)
    if read_json(result) != expected:
        raise UnreadableConfig("it cannot be changed safely")
    return result


def _put(text: str, root: _Node, path: Sequence[str], value: Any, line_end: str) -> str:
    unit = _unit(text, root)
    node = root
    for index, name in enumerate(path):
        if not isinstance(node.value, dict):
            where = ".".join(path[:index]) or "the file"
            line = text.count("\n", 0, node.start) + 1
            raise UnreadableConfig(f"{where} is not an object", line)
        if name not in node.members:
            rest = _nested(path[index + 1 :], value)
            return _inserted(text, node, name, rest, unit, line_end)
        node = node.members[name]
    if isinstance(node.value, dict) and node.value and "\n" not in text[node.start : node.end]:
        shown = json.dumps(value, ensure_ascii=False)
    else:
        shown = _shown(value, unit, _indent(text, node.start), line_end)
    return text[: node.start] + shown + text[node.end :]


def _inserted(text: str, node: _Node, name: str, value: Any, unit: str, line_end: str) -> str:
    """Return *text* with a new last member of the object *node*."""
    outer = _indent(text, node.start)
    if node.members and "\n" not in text[node.start : node.end]:
        member = f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        if node.comma:
            return f"{text[: node.inside]}{member},{text[node.inside :]}"
        last = max(each.end for each in node.members.values())
        return f"{text[:last]},{member}{text[last:]}"
    inner = outer + unit
    if node.members:
        first = min(member.start for member in node.members.values())
        inner = _indent(text, first)
    member = f"{json.dumps(name)}: {_shown(value, unit, inner, line_end)}"
    at = node.inside if node.members or node.inside > node.start + 1 else node.start + 1
    before = text[:at]
    if node.members and not node.comma:
        last = max(each.end for each in node.members.values())
        before = f"{text[:last]},{text[last:at]}"
    comma = "," if node.members and node.comma else ""
    return f"{before}{line_end}{inner}{member}{comma}{line_end}{outer}{text[node.end - 1 :]}"


def drop_json(text: str, path: Sequence[str]) -> str:
    """Return *text* without the member at *path*. Raises UnreadableConfig."""
    root = _Reader(text).document()
    parent = root
    for name in path[:-1]:
        parent = parent.members.get(name) if parent is not None else None
    member = parent.members.get(path[-1]) if parent is not None else None
    if root is None or parent is None or member is None:
        return text
    key = re.search(rf"{re.escape(json.dumps(path[-1]))}\s*:\s*$", text[: member.start])
    before = [each.end for each in parent.members.values() if each.end < member.start]
    start, end = key.start() if key else member.start, member.end
    if comma := re.match(r"\s*,[ \t]*(\r?\n)?", text[end:]):
        end += comma.end()
        line = text.rfind("\n", 0, start) + 1
        if comma[1] and not text[line:start].strip():
            start = line  # it has lines of its own
    elif before:
        start = max(before)
    result = text[:start] + text[end:]
    if read_json(result) != _without(root.value, path):
        raise UnreadableConfig(f"{path[-1]} is written in a way that cannot be removed safely")
    return result


def _without(data: Any, path: Sequence[str]) -> Any:
    rest = {name: value for name, value in data.items() if name != path[0]}
    if len(path) == 1:
        return rest
    return {
        name: _without(value, path[1:]) if name == path[0] else value
        for name, value in data.items()
    }


def _nested(path: Sequence[str], value: Any) -> Any:
    for name in reversed(path):
        value = {name: value}
    return value


def _with(data: Any, path: Sequence[str], value: Any) -> Any:
    if not path:
        return value
    if not isinstance(data, dict):
        raise UnreadableConfig(f"the parent of {path[0]} is not a table")
    return {**data, path[0]: _with(data.get(path[0], {}), path[1:], value)}


def _indent(text: str, at: int) -> str:
    """Return the indentation of the line of *at*."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip(_BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str, root: _Node) -> str:
    """Return the indentation of one level."""
    for member in root.members.values():
        own = _indent(text, member.start)
        if own and own != _indent(text, root.start):
            return own.removeprefix(_indent(text, root.start))
    return "  "


def _shown(value: Any, unit: str, outer: str, line_end: str) -> str:
    """Return a value formatted over several lines; short lists stay on one."""
    if isinstance(value, dict) and value:
        inner = outer + unit
        lines = (
            f"{inner}{json.dumps(name)}: {_shown(item, unit, inner, line_end)}"
            for name, item in value.items()
        )
        return f"{{{line_end}{f',{line_end}'.join(lines)}{line_end}{outer}}}"
    return json.dumps(value, ensure_ascii=False)


# --- TOML -----------------------------------------------------------------------------------------


def read_toml(text: str) -> dict[str, Any]:
    """Return the data of a TOML file. Raises UnreadableConfig."""
    import tomllib  # imported here: rarely needed

    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except tomllib.TOMLDecodeError as error:
        raise UnreadableConfig(str(error)) from None


def put_toml(text: str, path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return *text* with the table *value* at *path*; other keys of the table stay.

    Raises UnreadableConfig.
    """
    before = read_toml(text)
    there: Any = before
    for name in path:
        there = there.get(name, {}) if isinstance(there, dict) else {}
    expected = {**there, **value} if isinstance(there, dict) else dict(value)
    line_end = "\r\n" if "\r\n" in text else "\n"
    result = _changed_table(text, path, value, line_end) if there else None
    if result is None:
        result = _appended_table(text, path, value, line_end)
    try:
        after = read_toml(result)
    except UnreadableConfig:
        after = {}
    if after != _with(before, path, expected):
        raise UnreadableConfig(
            f"[{'.'.join(path)}] is written in a way that cannot be changed safely"
        )
    return result


def drop_toml(text: str, path: Sequence[str]) -> str:
    """Return *text* without the table at *path* and the tables in it. Raises UnreadableConfig."""
    names = r"\s*\.\s*".join(rf'"?{re.escape(name)}"?' for name in path)
    table = rf"^[ \t]*\[[ \t]*{names}[ \t]*(?:\.[^\]\n]*)?\][^\n]*\n?(?:(?![ \t]*\[)[^\n]*\n?)*"
    result = re.sub(table, "", text, flags=re.MULTILINE)
    expected = _without(read_toml(text), path)
    found = read_toml(result)
    # A table that held nothing else may be gone, too.
    if found != expected and {path[0]: {}, **found} != expected:
        raise UnreadableConfig(f"{path[-1]} is written in a way that cannot be removed safely")
    return result


def inline_toml(path: Sequence[str], value: Mapping[str, Any]) -> str:
    """Return a table as one line of text: its header, then its keys."""
    keys = (f"{key} = {_toml(item)}" for key, item in value.items())
    return f"[{'.'.join(path)}] and in it {', '.join(keys)}"


def _appended_table(text: str, path: Sequence[str], value: Mapping[str, Any], end: str) -> str:
    lines = [f"[{'.'.join(path)}]", *(f"{key} = {_toml(item)}" for key, item in value.items())]
    body = text.rstrip("\r\n \t")
    return (f"{body}{end}{end}" if body else text) + end.join(lines) + end


def _changed_table(
    text: str, path: Sequence[str], value: Mapping[str, Any], end: str
) -> str | None:
    """Return *text* with the keys of a table that has its own header changed in place."""
    names = r"\s*\.\s*".join(rf'"?{re.escape(name)}"?' for name in path)
    head = re.search(rf"^[ \t]*\[[ \t]*{names}[ \t]*\][^\n]*\n?", text, re.MULTILINE)
    if head is None:
        return None
    after = re.search(r"^[ \t]*\[", text[head.end() :], re.MULTILINE)
    stop = head.end() + after.start() if after else len(text)
    body, new = text[head.end() : stop], ""
    for key, item in value.items():
        line = f"{key} = {_toml(item)}"
        found = re.search(rf"^[ \t]*{key}[ \t]*=[^\r\n]*", body, re.MULTILINE)
        if found:
            body = body[: found.start()] + line + body[found.end() :]
        else:
            new += line + end
    gap = "" if text[: head.end()].endswith("\n") else end
    return text[: head.end()] + gap + new + body + text[stop:]


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
