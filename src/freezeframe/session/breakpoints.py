"""Logical breakpoints (the user's) and bound breakpoints (the debugger's).

A logical breakpoint belongs to the workspace: it exists before a program is started, survives a
restart, and is applied by every session of the workspace, or by its owner alone if it was set for
one session. Its bindings belong to a session.
"""

from __future__ import annotations

import difflib
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

from freezeframe import files
from freezeframe.backends.backend import BoundBreakpoint, BreakpointRequest
from freezeframe.errors import NotFound, UsageError
from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass, field
from freezeframe.model.locations import Location
from freezeframe.model.stops import Breakpoint, BreakpointState

from .function_lines import line_of_function
from .line_text import line_with

#: Directories that contain no source of the user's project.
_SKIPPED_DIRECTORIES = {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", "target"}
_MAX_FILES_SEARCHED = 20_000
#: `FILE:LINE`, as a manual writes it: no language has a function with one colon in its name
_FILE_AND_WORD = late_regex.compile(r"\w+:\w+")
#: `app.py`, `app.py:total`: may be a file without a line number
_FILE_WITHOUT_LINE = late_regex.compile(
    r"(?P<file>[^\s:]+\.\w+)(?::(?P<function>[A-Za-z_$][\w$.]*))?"
)


@dataclass(slots=True)
class LogicalBreakpoint:
    """One breakpoint of the user. `location.file` is absolute."""

    id: int
    location: Location
    condition: str | None = None
    hit_count: str | None = None
    log: str | None = None
    temporary: bool = False
    enabled: bool = True
    #: counted since the breakpoint was set or changed, or the program started
    hits: int = 0
    changed: bool = False
    #: the text of its line when the breakpoint was set
    text: str | None = None
    #: the session that the breakpoint was set for (`start -b`) and ends with; None: the workspace
    owner: str | None = None

    def to_request(self) -> BreakpointRequest:
        return BreakpointRequest(self.id, self.location, self.condition, self.hit_count, self.log)

    def same_as(self, other: LogicalBreakpoint) -> bool:
        """Whether *other* would replace this one: a logpoint and a breakpoint may share a line."""
        if None not in (self.owner, other.owner) and self.owner != other.owner:
            return False
        return (self.location, self.temporary, self.log is None) == (
            other.location,
            other.temporary,
            other.log is None,
        )


@dataclass(slots=True)
class LogicalBreakpoints:
    """All breakpoints of a workspace, by id."""

    entries: dict[int, LogicalBreakpoint] = field(default_factory=dict)
    _last_id: int = 0

    def __iter__(self) -> Iterator[LogicalBreakpoint]:
        return iter(self.entries.values())

    def add(self, entry: LogicalBreakpoint) -> LogicalBreakpoint:
        """Add a breakpoint under a new id."""
        self._last_id += 1
        entry.id = self._last_id
        self.entries[entry.id] = entry
        return entry

    def find_same(self, entry: LogicalBreakpoint) -> LogicalBreakpoint | None:
        return next((known for known in self if known.same_as(entry)), None)

    def get(self, id: int) -> LogicalBreakpoint:
        entry = self.entries.get(id)
        if entry is None:
            have = ", ".join(str(e.id) for e in self)
            raise NotFound(
                f"there is no breakpoint {id}" + (f"; there are {have}." if have else "."),
                next="dbg breakpoint list",
            )
        return entry

    def files(self) -> set[str]:
        return {e.location.file for e in self if e.location.file is not None}

    def for_file(self, path: str) -> list[BreakpointRequest]:
        """Return the requests for the enabled breakpoints in *path*."""
        return [e.to_request() for e in self if e.enabled and e.location.file == path]

    def for_functions(self) -> list[BreakpointRequest]:
        return [e.to_request() for e in self if e.enabled and e.location.function is not None]

    def for_addresses(self) -> list[BreakpointRequest]:
        return [e.to_request() for e in self if e.enabled and e.location.address is not None]

    def enabled(self) -> list[BreakpointRequest]:
        return [e.to_request() for e in self if e.enabled]

    def of(self, session: str) -> LogicalBreakpoints:
        """Return those that the session of that name applies: not those of other sessions."""
        return SessionBreakpoints(self, session)


class SessionBreakpoints(LogicalBreakpoints):
    """The breakpoints of a workspace that one session and its children apply."""

    def __init__(self, workspace: LogicalBreakpoints, session: str) -> None:
        super().__init__(workspace.entries)
        self._workspace = workspace
        self._session = session

    def __iter__(self) -> Iterator[LogicalBreakpoint]:
        return (e for e in self.entries.values() if e.owner in (None, self._session))

    def add(self, entry: LogicalBreakpoint) -> LogicalBreakpoint:
        return self._workspace.add(entry)


class BoundBreakpoints:
    """The bindings that one debugger reported for its breakpoints."""

    def __init__(self) -> None:
        self._bound: dict[int, BoundBreakpoint] = {}
        #: the last verified binding of each, kept after it is lost
        self._verified: dict[int, BoundBreakpoint] = {}

    def update(self, bound: Iterable[BoundBreakpoint]) -> None:
        for entry in bound:
            self._bound[entry.id] = entry
            if entry.verified:
                self._verified[entry.id] = entry

    def forget(self, ids: Iterable[int]) -> None:
        for id in ids:
            self._bound.pop(id, None)
            self._verified.pop(id, None)

    def last_verified(self, id: int) -> BoundBreakpoint | None:
        """Return the last verified binding, even if its code was unloaded since (an exec)."""
        return self._verified.get(id) or self._bound.get(id)

    def get(self, id: int) -> BoundBreakpoint | None:
        return self._bound.get(id)


def describe_best(
    entry: LogicalBreakpoint, answers: Iterable[BoundBreakpoint | None]
) -> Breakpoint:
    """Return the breakpoint with the best of several bindings.

    A program that does not run the file may have more to say about it than the one that does.
    """
    bound = [answer for answer in answers if answer is not None]
    best = max(bound, key=lambda b: (b.verified, not b.rejected, b.message is None), default=None)
    return describe(entry, best)


def describe(entry: LogicalBreakpoint, bound: BoundBreakpoint | None) -> Breakpoint:
    """Return the breakpoint as it is shown: the logical one with its binding."""
    path, line, message = entry.location.file, entry.location.line, None
    moved_from = None
    if not entry.enabled:
        state = BreakpointState.DISABLED
    elif bound is None:
        state = BreakpointState.REQUESTED
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
        hits=entry.hits if entry.log is None else None,
        edited=bound is not None and bound.edited is True,
    )


# --- resolving the file of a location -----------------------------------------------------------

#: the name of code that the program made itself: `<string>`, `<attrs generated init app.Cart>`
_MADE = late_regex.compile(r"<[^<>]+>")


def resolve(
    location: Location,
    cwd: str,
    root: str,
    *,
    remote: bool = False,
    source_files: Callable[[], Sequence[str]] = tuple,
) -> Location:
    """Return *location* with an absolute path to a file that exists.

    A path that does not exist is matched by its end against the workspace and against
    *source_files*, the files named by the program's debug information, which need not exist here;
    a single match is taken. Otherwise raises NotFound with the nearest name. With *remote* the
    file may be on another machine and is only made absolute. A file without a line is a UsageError:
    as a function name it would stay pending forever. The text of a line becomes its number, and
    `app.py:total` the first line of that function.
    """
    if location.file is None:
        location = _function_of_file(location, cwd, root)
    if location.file is None or _MADE.fullmatch(location.file):
        return location
    name = os.path.expanduser(location.file)
    path = os.path.abspath(os.path.join(cwd, name))
    if not os.path.isfile(path):
        if remote and location.text is None:
            return Location(file=os.path.join(cwd, name), line=location.line)
        path = _find(name, root, location, source_files)
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


def _function_of_file(location: Location, cwd: str, root: str) -> Location:
    """Return *location*, or the line of the function if it names a file and a function.

    Raises UsageError if it is a file alone.
    """
    name = location.function or ""
    match = _FILE_WITHOUT_LINE.fullmatch(name)
    if match is None:
        if _FILE_AND_WORD.fullmatch(name):
            raise UsageError(f"{name} is neither FILE:LINE nor a function.", next="dbg source")
        return location
    file, function = match["file"], match["function"]
    path = os.path.join(cwd, os.path.expanduser(file))
    if not os.path.isfile(path):
        suffix = os.sep + os.path.normpath(file)
        found = [each for each in _files_below(root) if each.endswith(suffix)] if function else []
        if not found:
            return location
        path = _find(file, root, Location(file=file, line=1), tuple)
    if not function:
        raise UsageError(f"{name} is a file; its line is missing.", next=f"dbg source {name}:1")
    return Location(file=path, line=line_of_function(function, path, file))


def _find(
    name: str, root: str, location: Location, source_files: Callable[[], Sequence[str]]
) -> str:
    files = list(_files_below(root))
    suffix = os.sep + os.path.normpath(name).lstrip("./")
    matches = [path for path in files if path.endswith(suffix)]
    archived = _archived(source_files, suffix)
    if len(matches) == 1 and not archived:
        return matches[0]
    debug_files = [path for path in source_files() if f"{os.sep}{path}".endswith(suffix)]
    # The archive's own file runs, not the one that it was made of.
    matches = archived or [path for path in matches if path in debug_files] or matches
    matches = matches or [path for path in debug_files if os.path.isfile(path)] or debug_files
    if len(matches) == 1:
        return matches[0]
    if matches:
        shown = ", ".join(sorted(_relative_to(root, m) for m in matches)[:4])
        raise NotFound(
            f"{name} could be any of {len(matches)} files: {shown}.",
            next=f"dbg break {_with_file(location, _relative_to(root, min(matches)))}",
        )
    names = {os.path.relpath(path, root): path for path in files}
    bases = {os.path.basename(path): path for path in source_files()}
    bases |= {os.path.basename(path): relative for relative, path in names.items()}
    kind = os.path.splitext(name)[1]
    alike = [base for base in bases if not kind or base.endswith(kind)]
    near = difflib.get_close_matches(os.path.basename(name), alike, 1, 0.6)
    raise NotFound(
        f"there is no file {name} here or below {root}.",
        next=f"dbg break {_with_file(location, bases[near[0]])}" if near else "dbg break FILE:LINE",
    )


def _archived(source_files: Callable[[], Sequence[str]], suffix: str) -> list[str]:
    """Return the sources with that end which are in an archive: part of their path is a file."""
    named = [path for path in source_files() if path.endswith(suffix)]
    return [path for path in named if _existing_part(path) not in ("", path)]


def _existing_part(path: str) -> str:
    """Return the file that *path* is, or leads through; empty if there is none."""
    part = path
    while not os.path.exists(part) and part != os.path.dirname(part):
        part = os.path.dirname(part)
    return part if os.path.isfile(part) else ""


def _with_file(location: Location, file: str) -> str:
    """Return the same line of another file, quoted for a shell."""
    text = str(Location(file=file, line=location.line, text=location.text))
    return text if location.text is None else shlex.quote(text)


def _relative_to(root: str, path: str) -> str:
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
