"""The scripts that an isolate has loaded: their paths, texts and source maps."""

from __future__ import annotations

import asyncio
import os
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from freezeframe.backends.javascript.initialization import line_starts

from . import sourcemaps
from .sourcemaps import SourceMap

#: the URLs of our own scripts begin with this
INTERNAL_URL = "freezeframe:"
#: scripts without a URL that are remembered
_NAMELESS = 500
#: characters that are searched backwards for the beginning of a `return`
_LONGEST_RETURN = 5_000
_RETURN = re.compile(r"(?<![\w$.])return(?![\w$])")
Requester = Callable[..., Awaitable[dict[str, Any]]]


@dataclass(slots=True)
class Script:
    """One script. `path` is its file, if it has one."""

    id: str
    url: str
    map_url: str = ""
    context: int = 0
    path: str | None = None
    #: whether it is an ES module
    module: bool = False
    _text: str | None = None
    _map: SourceMap | None = None
    _map_read: bool = False

    @property
    def internal(self) -> bool:
        """Whether the script belongs to the runtime, or to us."""
        return self.url.startswith(("node:", INTERNAL_URL)) or not self.url

    @property
    def library(self) -> bool:
        return self.internal or is_library(self.path)


@dataclass(frozen=True, slots=True)
class SourcePosition:
    """A position in the user's source, or in the script where no source is known. From 1."""

    path: str | None
    line: int
    column: int
    #: whether a source map was used
    mapped: bool = False


class Scripts:
    """All scripts that one isolate has loaded."""

    def __init__(self, request: Requester, root: str | None) -> None:
        self._request = request
        self._root = root
        self._by_id: dict[str, Script] = {}
        self._nameless: deque[str] = deque()
        #: sources that are in no file; their index + 1 is the reference that clients use
        self._held: list[Script | tuple[SourceMap, str]] = []

    def parsed(self, params: dict[str, Any]) -> Script:
        """Add a script that V8 has parsed."""
        url = str(params.get("url") or "")
        script = Script(
            str(params["scriptId"]),
            url,
            str(params.get("sourceMapURL") or ""),
            int(params.get("executionContextId") or 0),
            path_of(url),
            bool(params.get("isModule")),
        )
        self._by_id[script.id] = script
        if not url:
            # Every evaluation is a script, every evaluation of a condition too.
            self._nameless.append(script.id)
            if len(self._nameless) > _NAMELESS:
                self._by_id.pop(self._nameless.popleft(), None)
        return script

    def get(self, id: str) -> Script | None:
        return self._by_id.get(id)

    def __iter__(self) -> Iterator[Script]:
        return iter(list(self._by_id.values()))

    def at_path(self, path: str) -> list[Script]:
        return [each for each in self._by_id.values() if each.path == path]

    def loaded_paths(self) -> set[str]:
        """Return the files of all scripts, and their sources where the maps have been read."""
        found = {each.path for each in self._by_id.values() if each.path is not None}
        for each in self._by_id.values():
            if each._map is not None:
                found.update(each._map.real_sources)
        return found

    async def mapped_from(self, path: str) -> list[Script]:
        """Return the loaded scripts that were generated from the source *path*."""
        in_library = is_library(path)
        made = [
            each
            for each in self._by_id.values()
            if each.map_url and (in_library or not each.library)
        ]
        await self.read_maps(made)
        return [
            each
            for each in made
            if (found := self.map_of(each)) is not None and path in found.real_sources
        ]

    async def read_maps(self, scripts: Iterable[Script | None]) -> None:
        """Read the source maps of scripts in advance, off the event loop."""
        for script in scripts:
            if script is not None and script.map_url and not script._map_read:
                args = (script.map_url, script.path, self._root)
                script._map = await asyncio.to_thread(sourcemaps.load, *args)
                script._map_read = True

    def map_of(self, script: Script) -> SourceMap | None:
        """Return a script's source map, read once."""
        if not script._map_read:
            script._map_read = True
            if script.map_url:
                script._map = sourcemaps.load(script.map_url, script.path, self._root)
        return script._map

    async def has_on_line(self, word: str, location: Mapping[str, Any]) -> bool:
        """Return whether the line of a V8 location contains a word."""
        script = self.get(str(location["scriptId"]))
        if script is None:
            return False
        lines = (await self.text_of(script)).split("\n")
        number = int(location["lineNumber"])
        return number < len(lines) and word in lines[number]

    async def text_of(self, script: Script) -> str:
        if script._text is None:
            answer = await self._request("Debugger.getScriptSource", scriptId=script.id)
            script._text = str(answer.get("scriptSource") or "")
        return script._text

    def position(self, location: dict[str, Any]) -> SourcePosition:
        """Return the source position of a V8 location."""
        line, column = int(location["lineNumber"]), int(location.get("columnNumber") or 0)
        script = self._by_id.get(str(location["scriptId"]))
        if script is None:
            return SourcePosition(None, line + 1, column + 1)
        found = self.map_of(script)
        origin = found.origin(line, column) if found is not None else None
        if origin is not None:
            return SourcePosition(origin.path, origin.line + 1, origin.column + 1, mapped=True)
        return SourcePosition(script.path, line + 1, column + 1)

    def is_added(self, script: Script, location: dict[str, Any]) -> bool:
        """Return whether a compiler added the code there to a script that is named like its source.

        Its line is no line of the source.
        """
        found = self.map_of(script)
        if found is None or script.path is None or real(script.path) not in found.real_sources:
            return False
        return not self.position({**location, "scriptId": script.id}).mapped

    # --- sources without a file

    def reference(self, script: Script, position: SourcePosition) -> int:
        """Return the reference under which `held` has a text; 0 for what is in a file."""
        requested: Script | tuple[SourceMap, str] = script
        if position.path is not None and os.path.exists(position.path):
            return 0
        if position.mapped and position.path is not None:
            found = self.map_of(script)
            if found is None or position.path not in found.contents:
                return 0
            requested = (found, position.path)
        if requested not in self._held:
            self._held.append(requested)
        return self._held.index(requested) + 1

    async def held(self, reference: int) -> str | None:
        if not 0 < reference <= len(self._held):
            return None
        found = self._held[reference - 1]
        if isinstance(found, Script):
            return await self.text_of(found)
        source_map, path = found
        return source_map.contents[path]


def real(path: str) -> str:
    return os.path.realpath(path) if path.startswith("/") else path


def is_library(path: str | None) -> bool:
    return path is None or "/node_modules/" in path


def path_of(url: str) -> str | None:
    """Return the file of a script; None for the runtime's scripts and for evaluated code."""
    if url.startswith("file:"):
        return unquote(urlsplit(url).path)
    # Tools that run code in their own context give it a path instead of a URL.
    return url.partition("?")[0] if url.startswith("/") else None


def pattern_of(path: str) -> str:
    """Return a regular expression for the URLs under which a file may be loaded."""
    # The runtime leaves these characters unescaped, as browsers do.
    encoded = quote(path, safe="/!$&'()*+,;=:@~-._|^[]{}")
    encodings = {re.escape(encoded), re.escape(quote(path)), re.escape(path)}
    # V8 takes JavaScript's regular expressions.
    names = "|".join(each.replace("/", r"\/") for each in sorted(encodings))
    return rf"^(?:file:\/\/)?(?:{names})(?:[?#].*)?$"


def offset_of(text: str, line: int, column: int) -> int:
    """Return the offset of a line and column (from 0), with V8's line ends."""
    starts = line_starts(text)
    return starts[line] + column if line < len(starts) else len(text)


def return_before(text: str, end: int) -> int | None:
    """Return where a `return` begins that ends at the brace at *end*: `return r}`.

    None where the function just ends there, or where that is unclear.
    """
    if text[end : end + 1] != "}":
        return None
    depth = 0
    for at in range(end - 1, max(-1, end - _LONGEST_RETURN), -1):
        letter = text[at]
        if letter in ")]}":
            depth += 1
        elif letter in "([{" and depth:
            depth -= 1
        elif not depth and letter == "r" and _RETURN.match(text, at):
            return at
        elif not depth and letter in ";{([":
            return None
    return None


def returning(
    text: str, requested: tuple[int, int], exact: tuple[int, int]
) -> tuple[int, int] | None:
    """Return the requested position if V8 stops at the end of the `return` that is there."""
    end = offset_of(text, *exact)
    start = return_before(text, end)
    return requested if start is not None and start <= offset_of(text, *requested) < end else None


def position_of(text: str, offset: int) -> tuple[int, int]:
    """Return the line and column (from 0) of an offset."""
    head = text[:offset]
    starts = line_starts(head)
    return len(starts) - 1, offset - starts[-1]
