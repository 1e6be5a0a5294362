"""Breakpoints: wanted (the user's) against bound (the debugger's).

What the user wants belongs to the workspace: it exists before a program is started, survives a
restart, and is applied by every session there. What a debugger made of it belongs to a session.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from freezeframe import files
from freezeframe.backends.backend import BoundBreakpoint, WantedBreakpoint
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.places import Location
from freezeframe.model.stops import Breakpoint, BreakpointState

from .line_text import line_with

#: Directories that hold no source of the user's own.
_SKIPPED_DIRECTORIES = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "target"}
_MAX_FILES_SEARCHED = 20_000
#: `app.py`, `app.py:total`: may be a file that somebody named without a line
_HALF_A_PLACE = re.compile(r"(?P<file>[^\s:]+\.\w+)(?::(?P<function>[A-Za-z_]\w*))?")


@dataclass(slots=True)
class Wanted:
    """One breakpoint of the user's. `location.file` is absolute."""

    id: int
    location: Location
    condition: str | None = None
    hit_count: str | None = None
    log: str | None = None
    temporary: bool = False
    enabled: bool = True
    hits: int = 0
    #: its line as it was when this was set
    text: str | None = None
    #: the session that it was given to (`start -b`), and ends with; None: it is the workspace's
    owner: str | None = None

    def to_set(self) -> WantedBreakpoint:
        return WantedBreakpoint(self.id, self.location, self.condition, self.hit_count, self.log)

    def same_as(self, other: Wanted) -> bool:
        """Whether *other* would take its place: a logpoint and a breakpoint may share a line."""
        return (self.location, self.temporary, self.log is None) == (
            other.location,
            other.temporary,
            other.log is None,
        )


@dataclass(slots=True)
class Book:
    """All breakpoints of a workspace, by id."""

    wanted: dict[int, Wanted] = field(default_factory=dict)
    _last_id: int = 0

    def __iter__(self) -> Iterator[Wanted]:
        return iter(self.wanted.values())

    def add(self, entry: Wanted) -> Wanted:
        """Enter a breakpoint under a new id."""
        self._last_id += 1
        entry.id = self._last_id
        self.wanted[entry.id] = entry
        return entry

    def find_same(self, entry: Wanted) -> Wanted | None:
        return next((known for known in self if known.same_as(entry)), None)

    def get(self, id: int) -> Wanted:
        entry = self.wanted.get(id)
        if entry is None:
            have = ", ".join(str(e.id) for e in self)
            raise NotFound(
                f"there is no breakpoint {id}" + (f"; there are {have}." if have else "."),
                next="dbg breakpoint list",
            )
        return entry

    def files(self) -> set[str]:
        return {e.location.file for e in self if e.location.file is not None}

    def for_file(self, path: str) -> list[WantedBreakpoint]:
        """Return what is to be set in *path*: the enabled ones."""
        return [e.to_set() for e in self if e.enabled and e.location.file == path]

    def for_functions(self) -> list[WantedBreakpoint]:
        return [e.to_set() for e in self if e.enabled and e.location.function is not None]

    def for_addresses(self) -> list[WantedBreakpoint]:
        return [e.to_set() for e in self if e.enabled and e.location.address is not None]

    def enabled(self) -> list[WantedBreakpoint]:
        return [e.to_set() for e in self if e.enabled]


class Bindings:
    """What one debugger made of the breakpoints it was given."""

    def __init__(self) -> None:
        self._bound: dict[int, BoundBreakpoint] = {}
        #: as they were in place, whatever has become of them since
        self._placed: dict[int, BoundBreakpoint] = {}

    def update(self, bound: Iterable[BoundBreakpoint]) -> None:
        for entry in bound:
            self._bound[entry.id] = entry
            if entry.verified:
                self._placed[entry.id] = entry

    def forget(self, ids: Iterable[int]) -> None:
        for id in ids:
            self._bound.pop(id, None)
            self._placed.pop(id, None)

    def at_best(self, id: int) -> BoundBreakpoint | None:
        """Return one as it was in place, also where its code has gone since (an exec)."""
        return self._placed.get(id) or self._bound.get(id)

    def get(self, id: int) -> BoundBreakpoint | None:
        return self._bound.get(id)


def describe_best(entry: Wanted, answers: Iterable[BoundBreakpoint | None]) -> Breakpoint:
    """Return the breakpoint with what several debuggers made of it: the best news counts."""
    bound = [answer for answer in answers if answer is not None]
    return describe(entry, max(bound, key=lambda b: (b.verified, not b.rejected), default=None))


def describe(entry: Wanted, bound: BoundBreakpoint | None) -> Breakpoint:
    """Return the breakpoint as the reader sees it: wanted and bound in one."""
    path, line, message = entry.location.file, entry.location.line, None
    moved_from = None
    if not entry.enabled:
        state = BreakpointState.DISABLED
    elif bound is None:
        state = BreakpointState.WANTED
    elif bound.verified:
        state = BreakpointState.BOUND
        path, line, message = bound.path or path, bound.line or line, bound.message
        if entry.location.line is not None and line != entry.location.line:
            moved_from = entry.location.line
    else:
        state = BreakpointState.REJECTED if bound.rejected else BreakpointState.PENDING
        message = bound.message
    return Breakpoint(
        id=entry.id,
        location=str(entry.location),
        state=state,
        path=path,
        line=line,
        moved_from=moved_from,
        condition=entry.condition,
        hit_count=entry.hit_count,
        log=entry.log,
        temporary=entry.temporary,
        message=message,
        hits=entry.hits,
        edited=bound is not None and bound.edited is True,
    )


# --- finding the file that was meant ------------------------------------------------------------


def resolve(
    location: Location,
    cwd: str,
    root: str,
    *,
    remote: bool = False,
    made_of: Callable[[], Sequence[str]] = tuple,
) -> Location:
    """Return *location* with an absolute path to a file that exists.

    A file that is not there but stands under that name in exactly one place of the workspace is
    taken, or of *made_of*: what the program says that it was made of, which need not be here.
    Raises NotFound, with the nearest name, otherwise. With *remote* the file may live on another
    machine and is only made absolute. A file without a line is a UsageError: taken for a function,
    it would wait for ever. The text of a line becomes its number.
    """
    if location.file is None:
        _refuse_half(location.function or "", cwd, root)
        return location
    wanted = os.path.expanduser(location.file)
    path = os.path.abspath(os.path.join(cwd, wanted))
    if not os.path.isfile(path):
        if remote and location.text is None:
            return Location(file=os.path.join(cwd, wanted), line=location.line)
        path = _find(wanted, root, location, made_of)
        if not os.path.exists(path) and location.text is None:
            return Location(file=path, line=location.line)
    if location.text is not None:
        return Location(file=path, line=line_with(location.text, path, location.file))
    line = location.line or 0
    if line < 1:
        raise UsageError(
            f"{location.file} has no line {line}.", next=f"dbg source {location.file}:1"
        )
    try:
        total = len(files.read_bytes(path).splitlines())
    except OSError as error:
        raise NotFound(f"{location.file} cannot be read: {error.strerror}.") from None
    if line > total:
        raise NotFound(
            f"{location.file} has {total} lines; there is no line {line}.",
            next=f"dbg source {location.file}:{total}",
        )
    return Location(file=path, line=location.line)


def _refuse_half(name: str, cwd: str, root: str) -> None:
    """Raise UsageError where *name* is a file, or a file and a function, and no function's name."""
    half = _HALF_A_PLACE.fullmatch(name)
    if half is None:
        return
    file, function = half["file"], half["function"]
    suffix = os.sep + os.path.normpath(file)
    if not os.path.isfile(os.path.join(cwd, os.path.expanduser(file))) and not (
        function and any(path.endswith(suffix) for path in _files_below(root))
    ):
        return
    if function:
        raise UsageError(
            f"a place is a file and a line, or a function alone; {name} is neither.",
            next=f"dbg break {function}",
        )
    raise UsageError(f"{name} is a file, and the line is missing.", next=f"dbg source {name}:1")


def _find(wanted: str, root: str, location: Location, made_of: Callable[[], Sequence[str]]) -> str:
    files = list(_files_below(root))
    suffix = os.sep + os.path.normpath(wanted).lstrip("./")
    matches = [path for path in files if path.endswith(suffix)]
    if len(matches) == 1:
        return matches[0]
    told = [path for path in made_of() if f"{os.sep}{path}".endswith(suffix)]
    matches = [path for path in matches if path in told] or matches
    matches = matches or [path for path in told if os.path.isfile(path)] or told
    if len(matches) == 1:
        return matches[0]
    if matches:
        shown = ", ".join(sorted(_seen_from(root, m) for m in matches)[:4])
        raise NotFound(
            f"{wanted} could be any of {len(matches)} files: {shown}.",
            next=f"dbg break {_with_file(location, _seen_from(root, min(matches)))}",
        )
    names = {os.path.relpath(path, root): path for path in files}
    bases = {os.path.basename(path): path for path in made_of()}
    bases |= {os.path.basename(path): relative for relative, path in names.items()}
    kind = os.path.splitext(wanted)[1]
    alike = [base for base in bases if not kind or base.endswith(kind)]
    near = difflib.get_close_matches(os.path.basename(wanted), alike, 1, 0.6)
    raise NotFound(
        f"there is no file {wanted} here or below {root}.",
        next=f"dbg break {_with_file(location, bases[near[0]])}" if near else "dbg break FILE:LINE",
    )


def _with_file(location: Location, file: str) -> str:
    """Return the same line of another file, as a shell takes it."""
    place = str(Location(file=file, line=location.line, text=location.text))
    return place if location.text is None else shlex.quote(place)


def _seen_from(root: str, path: str) -> str:
    relative = os.path.relpath(path, root)
    return path if relative.startswith("..") else relative


def _files_below(root: str) -> Iterator[str]:
    count = 0
    for directory, directories, names in os.walk(root):
        directories[:] = [d for d in directories if d not in _SKIPPED_DIRECTORIES]
        for name in names:
            count += 1
            if count > _MAX_FILES_SEARCHED:
                return
            yield os.path.join(directory, name)
