"""The scripts that an isolate has loaded: their paths, their texts, their source maps."""

from __future__ import annotations

import asyncio
import os
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from . import sourcemaps
from .sourcemaps import SourceMap

#: scripts of ours carry this in their URL
OURS = "freezeframe:"
#: scripts without a URL that are remembered
_NAMELESS = 500
#: characters of a `return` that are looked through for its beginning
_LONGEST_RETURN = 5_000
_RETURN = re.compile(r"(?<![\w$.])return(?![\w$])")
Ask = Callable[..., Awaitable[dict[str, Any]]]


@dataclass(slots=True)
class Script:
    """One script. `path` is where it lies, when it lies in a file."""

    id: str
    url: str
    map_url: str = ""
    context: int = 0
    path: str | None = None
    #: it is an ES module
    module: bool = False
    _text: str | None = None
    _map: SourceMap | None = None
    _map_read: bool = False

    @property
    def internal(self) -> bool:
        """It is the runtime's own."""
        return self.url.startswith(("node:", OURS)) or not self.url

    @property
    def library(self) -> bool:
        return self.internal or is_library(self.path)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in what the user wrote, or in the script where nothing else is known. From 1."""

    path: str | None
    line: int
    column: int
    #: a source map led here
    mapped: bool = False


class Scripts:
    """Everything that one isolate has loaded."""

    def __init__(self, ask: Ask, root: str | None) -> None:
        self._ask = ask
        self._root = root
        self._by_id: dict[str, Script] = {}
        self._nameless: deque[str] = deque()
        #: sources that are in no file, by the number that a reader asks for them with
        self._held: list[Script | tuple[SourceMap, str]] = []

    def parsed(self, params: dict[str, Any]) -> Script:
        """Take in a script that V8 has read."""
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
            # Every evaluation is a script of its own, every pass of a condition too.
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

    async def mapped_from(self, path: str) -> list[Script]:
        """Return the loaded scripts that were made from the source *path*."""
        wanted_library = is_library(path)
        made = [
            each
            for each in self._by_id.values()
            if each.map_url and (wanted_library or not each.library)
        ]
        await self.read_maps(made)
        return [
            each
            for each in made
            if (found := self.map_of(each)) is not None and path in found.real_sources
        ]

    async def read_maps(self, scripts: Iterable[Script | None]) -> None:
        """Read the source maps of scripts before somebody asks for them, off the event loop."""
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
        """Whether the line of a location, as V8 has it, contains a word."""
        script = self.get(str(location["scriptId"]))
        if script is None:
            return False
        lines = (await self.text_of(script)).split("\n")
        number = int(location["lineNumber"])
        return number < len(lines) and word in lines[number]

    async def text_of(self, script: Script) -> str:
        if script._text is None:
            answer = await self._ask("Debugger.getScriptSource", scriptId=script.id)
            script._text = str(answer.get("scriptSource") or "")
        return script._text

    def spot(self, location: dict[str, Any]) -> Spot:
        """Return where a place of V8's is for the user."""
        line, column = int(location["lineNumber"]), int(location.get("columnNumber") or 0)
        script = self._by_id.get(str(location["scriptId"]))
        if script is None:
            return Spot(None, line + 1, column + 1)
        found = self.map_of(script)
        origin = found.origin(line, column) if found is not None else None
        if origin is not None:
            return Spot(origin.path, origin.line + 1, origin.column + 1, mapped=True)
        return Spot(script.path, line + 1, column + 1)

    # --- sources that no file has

    def reference(self, script: Script, spot: Spot) -> int:
        """Return the number under which `held` has a text; 0 for what is in a file."""
        wanted: Script | tuple[SourceMap, str] = script
        if spot.path is not None and os.path.exists(spot.path):
            return 0
        if spot.mapped and spot.path is not None:
            found = self.map_of(script)
            if found is None or spot.path not in found.contents:
                return 0
            wanted = (found, spot.path)
        if wanted not in self._held:
            self._held.append(wanted)
        return self._held.index(wanted) + 1

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
    """Return the file of a script; None for the runtime's own, and for what was evaluated."""
    if url.startswith("file:"):
        return unquote(urlsplit(url).path)
    # Tools that run code in a context of their own give it a path instead of a URL.
    return url.partition("?")[0] if url.startswith("/") else None


def pattern_of(path: str) -> str:
    """Return a regular expression for the URLs that a file may be loaded under."""
    # The runtime leaves these as they are, as browsers do.
    encoded = quote(path, safe="/!$&'()*+,;=:@~-._|^[]{}")
    spellings = {re.escape(encoded), re.escape(quote(path)), re.escape(path)}
    # V8 takes the regular expressions of its own language.
    names = "|".join(each.replace("/", r"\/") for each in sorted(spellings))
    return rf"^(?:file:\/\/)?(?:{names})(?:[?#].*)?$"


def offset_of(text: str, line: int, column: int) -> int:
    """Return where a line and column (from 0) lie in a text, as V8 counts lines."""
    starts = line_starts(text)
    return starts[line] + column if line < len(starts) else len(text)


def return_before(text: str, end: int) -> int | None:
    """Return where a `return` begins that ends at the brace at *end*: `return r}`.

    None where the function just ends there, or where that cannot be told.
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


def returning(text: str, wanted: tuple[int, int], exact: tuple[int, int]) -> tuple[int, int] | None:
    """Return the wanted place where V8 stops at the end of the `return` that stands there."""
    end = offset_of(text, *exact)
    start = return_before(text, end)
    return wanted if start is not None and start <= offset_of(text, *wanted) < end else None


def line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer(r"\r\n|[\n\r\u2028\u2029]", text))]


def place_of(text: str, offset: int) -> tuple[int, int]:
    """Return the line and column (from 0) of an offset."""
    head = text[:offset]
    starts = line_starts(head)
    return len(starts) - 1, offset - starts[-1]
