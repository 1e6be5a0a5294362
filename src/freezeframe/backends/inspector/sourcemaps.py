"""Source maps: from a generated position to its source, and from a source line to generated code.

Version 3, plain and indexed. Lines and columns are counted from 0 here, as in the maps.
"""

from __future__ import annotations

import base64
import binascii
import bisect
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from freezeframe import files

_DIGITS = {
    letter: value
    for value, letter in enumerate(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    )
}
_COMMENT = re.compile(r"^[ \t]*(?://|/\*)[#@][ \t]*sourceMappingURL=([^\s'\"*]+)", re.MULTILINE)
#: one segment of generated code: column, source, line and column there
_Segment = tuple[int, int, int, int]


#: numbers in the format have 32 bits
_MAX_BITS = 30
#: size limit of mappings, in characters; those of a large bundle have some millions
_MAX_MAPPINGS = 24 << 20
#: nesting limit of sections; the format does not allow nested ones
_MAX_DEPTH = 3


class BadMap(ValueError):
    """The data is not a source map."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A position in a source."""

    path: str
    line: int
    column: int


class SourceMap:
    """One map, parsed as a whole when it is created, so that a bad one is rejected at once."""

    def __init__(self, data: dict[str, Any], directory: str, root: str | None = None) -> None:
        """*directory* is the map's own, to which its sources are relative; *root* is the project's.

        Raises BadMap; other errors (TypeError, AttributeError…) where it is not even similar to a
        map.
        """
        if data.get("version") != 3:
            raise BadMap(f"its version is {data.get('version')!r}, not 3")
        self._parts = list(_parts(data))
        #: the paths of its sources
        self.sources: list[str] = []
        #: the texts of its sources, where the map contains them
        self.contents: dict[str, str] = {}
        self._offsets: list[int] = []
        for _, _, part in self._parts:
            self._offsets.append(len(self.sources))
            texts = part.get("sourcesContent") or []
            for index, name in enumerate(part.get("sources") or []):
                path = source_path(str(name or ""), part.get("sourceRoot") or "", directory, root)
                self.sources.append(path)
                if index < len(texts) and isinstance(texts[index], str):
                    self.contents[path] = texts[index]
        self.real_sources = [_real(path) for path in self.sources]
        #: by generated position: the source's name of the identifier there
        self.names: dict[tuple[int, int], str] = {}
        self._lines = self._read_lines()
        self._named = sorted(self.names)
        self._by_source: dict[int, dict[int, tuple[int, int]]] | None = None

    # --- lookup

    def origin(self, line: int, column: int) -> Origin | None:
        """Return the source position of a generated one; None for code without a source."""
        segments = self._lines.get(line)
        if not segments:
            return None
        index = bisect.bisect_right(segments, (column, 1 << 60, 0, 0)) - 1
        segment = segments[max(index, 0)]
        if segment[1] < 0:
            return None
        return Origin(self.sources[segment[1]], segment[2], segment[3])

    def first(self) -> tuple[int, int] | None:
        """Return the first generated position that has a source."""
        for line in sorted(self._lines):
            for column, source, *_ in self._lines[line]:
                if source >= 0:
                    return line, column
        return None

    def generated(self, source: str, line: int) -> tuple[int, int, int] | None:
        """Return the generated position of a source line, and the line it is for.

        That is the first line from there on with code; None if there is none.
        """
        best: tuple[int, int, int] | None = None
        for index, name in enumerate(self.sources):
            if name != source:
                continue
            lines = self._of_source(index)
            if line in lines:
                return (*lines[line], line)
            later = min((each for each in lines if each > line), default=None)
            if later is not None and (best is None or later < best[2]):
                best = (*lines[later], later)
        return best

    def names_between(
        self, start: tuple[int, int], end: tuple[int, int], most: int
    ) -> list[tuple[tuple[int, int], str]]:
        """Return the named positions in a range of generated code, at most *most*."""
        first = bisect.bisect_left(self._named, start)
        last = min(bisect.bisect_left(self._named, end), first + most)
        return [(position, self.names[position]) for position in self._named[first:last]]

    def begins(self, line: int, column: int) -> bool:
        """Return whether a segment begins at exactly that generated position."""
        return any(each[0] == column for each in self._lines.get(line, ()))

    def comes_from(self, source: str, line: int, column: int) -> bool:
        """Return whether a segment has exactly that source position."""
        positions = ((each[1], each[2:]) for row in self._lines.values() for each in row)
        return any(
            position == (line, column) and index >= 0 and self.sources[index] == source
            for index, position in positions
        )

    # --- reading

    def _read_lines(self) -> dict[int, list[_Segment]]:
        lines: dict[int, list[_Segment]] = {}
        ends = [*self._offsets[1:], len(self.sources)]
        for (line, column, part), offset, end in zip(self._parts, self._offsets, ends, strict=True):
            named: dict[tuple[int, int], int] = {}
            decoded = _decode(str(part.get("mappings") or ""), named)
            for number, segments in enumerate(decoded):
                shift = column if number == 0 else 0
                # The positions after a wrong one are relative to it: steps would pass them all
                # as code without a source.
                if any(each[1] >= end - offset or min(each[1:]) < -1 for each in segments):
                    raise BadMap(f"line {line + number + 1} is at no position of its sources")
                found = [
                    (each[0] + shift, each[1] + offset, each[2], each[3])
                    if min(each[1:]) >= 0
                    else (each[0] + shift, -1, 0, 0)
                    for each in segments
                ]
                if found:
                    lines.setdefault(line + number, []).extend(found)
            names = part.get("names") or []
            for (below, at), index in named.items():
                if 0 <= index < len(names) and isinstance(names[index], str):
                    self.names[line + below, at + (0 if below else column)] = names[index]
        for row in lines.values():
            row.sort(key=lambda each: each[0])
        return lines

    def _of_source(self, index: int) -> dict[int, tuple[int, int]]:
        """Return the first generated position of each line of a source."""
        if self._by_source is None:
            found: dict[int, dict[int, tuple[int, int]]] = {}
            for generated, segments in sorted(self._lines.items()):
                for column, source, line, _ in segments:
                    if source >= 0:
                        found.setdefault(source, {}).setdefault(line, (generated, column))
            self._by_source = found
        return self._by_source.get(index, {})


def _parts(data: dict[str, Any], depth: int = 0) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield each plain map with the generated position where it begins. Raises BadMap."""
    if depth > _MAX_DEPTH:
        raise BadMap("its sections have sections of their own, too deep")
    sections = data.get("sections")
    if sections is None:
        yield 0, 0, data
        return
    for section in sections:
        offset = section.get("offset") or {}
        for line, column, part in _parts(section.get("map") or {}, depth + 1):
            # Only the first line of a section is shifted to the right.
            shift = int(offset.get("column") or 0) + column if line == 0 else column
            yield int(offset.get("line") or 0) + line, shift, part


def _decode(mappings: str, named: dict[tuple[int, int], int]) -> Iterator[list[_Segment]]:
    """Yield the segments of each generated line; add those with a name to *named*. Raises
    BadMap."""
    if len(mappings) > _MAX_MAPPINGS:
        raise BadMap(f"its mappings have {len(mappings)} characters")
    source = line = column = name = 0
    known: dict[str, list[int]] = {}
    for number, row in enumerate(mappings.split(";")):
        generated = 0
        segments: list[_Segment] = []
        for field in row.split(",") if row else ():
            numbers = known.get(field)
            if numbers is None:
                numbers = known[field] = _numbers(field)
            if not numbers:
                continue
            generated += numbers[0]
            if len(numbers) >= 4:
                source += numbers[1]
                line += numbers[2]
                column += numbers[3]
                segments.append((generated, source, line, column))
                if len(numbers) >= 5:
                    name += numbers[4]
                    named[number, generated] = name
            else:
                segments.append((generated, -1, 0, 0))
        yield segments


def _numbers(field: str) -> list[int]:
    found, value, shift = [], 0, 0
    for letter in field:
        digit = _DIGITS.get(letter)
        if digit is None:
            raise BadMap(f"{letter!r} is not valid in its mappings")
        value |= (digit & 31) << shift
        if digit & 32:
            shift += 5
            if shift > _MAX_BITS:
                raise BadMap("a number in its mappings has more than 32 bits")
            continue
        found.append(-(value >> 1) if value & 1 else value >> 1)
        value = shift = 0
    return found


# --- loading ------------------------------------------------------------------------------------


def url_in(text: str) -> str:
    """Return the map URL in the last comment of a script; empty if there is none."""
    found = _COMMENT.findall(text)
    return str(found[-1]) if found else ""


def load(url: str, script: str | None, root: str | None = None) -> SourceMap | None:
    """Return the map that a script names: in the URL itself, or in a file next to the script.

    None if it is missing, remote, or not a map: the running code is shown then.
    """
    try:
        if url.startswith("data:"):
            text = _from_data(url)
            directory = os.path.dirname(script) if script else root or "/"
        else:
            path = _local(url, os.path.dirname(script) if script else None)
            if path is None:
                return None
            text = files.read_text(path)
            directory = os.path.dirname(path)
        # A map may begin with a line that keeps browsers from running it.
        if text.startswith(")]}"):
            text = text.partition("\n")[2]
        data = json.loads(text)
        if not isinstance(data, dict):
            return None
        return SourceMap(data, directory, root)
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        return None
    except (OverflowError, RecursionError, MemoryError):
        return None


def _from_data(url: str) -> str:
    head, _, body = url.partition(",")
    if not head.endswith(";base64"):
        return unquote_to_bytes(body).decode("utf-8", "replace")
    try:
        return base64.b64decode(unquote(body)).decode("utf-8", "replace")
    except binascii.Error as error:
        raise BadMap(str(error)) from None


def _local(url: str, directory: str | None) -> str | None:
    if url.startswith("file:"):
        return unquote(urlsplit(url).path)
    if re.match(r"[a-zA-Z][\w+.-]+:", url) or directory is None:
        return None
    return os.path.normpath(os.path.join(directory, unquote(url)))


def _real(path: str) -> str:
    """Return the path of a source with links resolved."""
    return os.path.realpath(path) if path.startswith("/") else path


def source_path(name: str, source_root: str, directory: str, root: str | None) -> str:
    """Return the path of a source that a map names. Raises BadMap."""
    try:
        os.fsencode(name + source_root)
    except UnicodeEncodeError as error:
        raise BadMap(str(error)) from None
    if "\0" in name + source_root:
        raise BadMap("a name of a source holds a zero byte")
    joined = name if _absolute(name) or not source_root else source_root.rstrip("/") + "/" + name
    if joined.startswith("file:"):
        return os.path.normpath(unquote(urlsplit(joined).path))
    bundled = re.match(r"(?:webpack|webpack-internal|rollup|vite|ng|turbopack):/*(.*)", joined)
    if bundled is not None:
        # Bundlers name sources relative to the project: webpack://name/./src/app.ts.
        return _in_project(bundled[1].partition("?")[0], root or directory)
    if re.match(r"[a-zA-Z][\w+.-]+:", joined):
        return joined
    # Some tools percent-encode blanks, some do not.
    path = os.path.normpath(os.path.join(directory, joined))
    decoded = unquote(path)
    return decoded if decoded != path and not os.path.exists(path) else path


def _in_project(name: str, root: str) -> str:
    candidates = [name, name.partition("/")[2]]
    for each in candidates:
        path = os.path.normpath(os.path.join(root, each.lstrip("/")))
        if os.path.exists(path):
            return path
    return os.path.normpath(os.path.join(root, candidates[0].lstrip("/")))


def _absolute(name: str) -> bool:
    return name.startswith("/") or re.match(r"[a-zA-Z][\w+.-]+:", name) is not None
