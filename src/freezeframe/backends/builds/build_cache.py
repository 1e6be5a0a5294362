"""Build a program into a folder of our cache, unless an up-to-date build is there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence

from freezeframe import files, paths
from freezeframe.backends.transport.run_command import CommandResult, run
from freezeframe.errors import BuildFailed, DebuggerTimeout
from freezeframe.model.fast_dataclass import dataclass

from .build_plan import FOLDER, BuildPlan, CompilerError, shown_path

#: a build that was not used for so long is removed
_MAX_AGE_S = 14 * 24 * 3600
#: source files whose times are compared at most; a program with more is simply built again
_MAX_SOURCES = 5_000
_SHOWN = 8
_LINE = 240


@dataclass(frozen=True, slots=True)
class Built:
    """A program that is ready to be started."""

    plan: BuildPlan
    program: str
    #: whether it was built just now; otherwise it was up to date
    new: bool
    took_s: float = 0.0

    def note(self, cwd: str) -> str:
        """Return one line that says what was built with what."""
        what = shown_path(self.plan.source, cwd)
        if not self.new:
            return f"built before: {what} with {self.plan.display}, up to date"
        return f"built: {what} with {self.plan.display} in {self.took_s:.1f} s"


async def make(plan: BuildPlan, *, env: Mapping[str, str], cwd: str, timeout_s: float) -> Built:
    """Build the program if needed. *cwd* is the caller's directory, for the paths in errors.

    Raises BuildFailed with the compiler's first errors.
    """
    folder = _folder(plan)
    known = await asyncio.to_thread(_up_to_date, plan, folder)
    if known is not None:
        os.utime(folder)
        return Built(plan, known, new=False)
    stamp = _stamp(plan, folder)
    before = _identity(_read(stamp))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(stamp)
    began_ns = time.time_ns()
    argv = [word.replace(FOLDER, folder) for word in plan.argv]
    added = {name: value.replace(FOLDER, folder) for name, value in plan.env.items()}
    try:
        result = await run(argv, cwd=plan.cwd, env={**env, **added}, timeout_s=timeout_s)
    except DebuggerTimeout as error:
        raise BuildFailed(f"{error.message} See timeouts.build_s.", next="dbg config") from None
    program = plan.read_product(result) or os.path.join(folder, plan.product)
    if result.status != 0 or not os.path.exists(program):
        raise _failure(plan, result, cwd)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(program)
    # A source that changed during the build is newer than this, and will be built again.
    os.utime(stamp, ns=(began_ns, began_ns))
    os.utime(folder)
    await asyncio.to_thread(prune)
    new = not plan.incremental or _identity(program) != before
    return Built(plan, program, new, result.took_s)


def _folder(plan: BuildPlan) -> str:
    """Create and return the folder of a build, which only this user can read."""
    key = plan.shared or _key(plan)
    with contextlib.suppress(OSError):
        key += str(os.stat(plan.argv[0]).st_mtime_ns)
    name = re.sub(r"[^\w.+-]", "_", os.path.basename(plan.shared) if plan.shared else plan.name)[
        :40
    ]
    paths.secure(paths.builds_dir())
    return paths.secure(os.path.join(paths.builds_dir(), f"{name}-{_digest(key)}"))


def _key(plan: BuildPlan) -> str:
    added = (f"{name}={value}" for name, value in plan.env.items())
    return "\0".join((plan.cwd, *plan.argv, *added))


def _digest(key: str) -> str:
    import hashlib  # late: few daemons ever build anything

    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _stamp(plan: BuildPlan, folder: str) -> str:
    """Return the path of the file that names the program and whose mtime is the start of its
    build."""
    return os.path.join(folder, f".built-{_digest(_key(plan))}")


def _up_to_date(plan: BuildPlan, folder: str) -> str | None:
    """Return the program that was built before, if none of its sources is newer."""
    if plan.rules is None and plan.sources is None:
        return None
    stamp = _stamp(plan, folder)
    try:
        made_ns = os.stat(stamp).st_mtime_ns
        program = _read(stamp)
        sources = [plan.source, *_sources(plan, folder)]
        newest = max(os.stat(os.path.join(plan.cwd, each)).st_mtime_ns for each in sources)
    except OSError:
        return None
    return program if newest < made_ns and program and os.path.exists(program) else None


def _sources(plan: BuildPlan, folder: str) -> list[str]:
    """Return the sources of a program. Raises OSError where they are not known."""
    if plan.rules is not None:
        with open(os.path.join(folder, plan.rules), encoding="utf-8", errors="replace") as file:
            return _prerequisites(file.read())
    assert plan.sources is not None
    root, suffix = plan.sources
    found: list[str] = []
    for here, folders, names in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith(".")]
        # A folder's own mtime changes when files are added or removed.
        found += [here, *(os.path.join(here, name) for name in names if name.endswith(suffix))]
        if len(found) > _MAX_SOURCES:
            raise OSError(f"{root} has too many files to look at")
    return found


def _read(stamp: str) -> str | None:
    """Return the path of the last built program."""
    try:
        return files.read_text(stamp)
    except OSError:
        return None


def _prerequisites(rules: str) -> list[str]:
    """Return the files after the colon in make rules."""
    found = []
    for line in rules.replace("\\\n", " ").splitlines():
        if line.startswith("#"):
            continue
        _, colon, names = line.partition(": ")
        if colon:
            paths = re.split(r"(?<!\\)\s+", names.strip())
            found += [path.replace("\\ ", " ").replace("$$", "$") for path in paths if path]
    return found


def _identity(program: str | None) -> tuple[str, int, int] | None:
    """Return what changes when a program is rebuilt; go updates the mtime even if it is not
    rebuilt."""
    try:
        facts = os.stat(program) if program is not None else None
    except OSError:
        return None
    return None if program is None or facts is None else (program, facts.st_ino, facts.st_size)


def _failure(plan: BuildPlan, result: CommandResult, cwd: str) -> BuildFailed:
    found = list(plan.read_errors(result))
    what = shown_path(plan.source, cwd)
    output = result.err.strip() or result.out.strip()
    if not found:
        lines = output.splitlines()[-_SHOWN:] or [f"it ended with {result.status}"]
        found = [CompilerError(line) for line in lines]
        how = f"{what} could not be built with {plan.display}"
    else:
        count = f"{len(found)} errors" if len(found) > 1 else "1 error"
        how = f"{what} does not build with {plan.display}: {count}"
    rows = [_row(each, plan.cwd, cwd) for each in found[:_SHOWN]]
    if len(found) > _SHOWN:
        rows.append(f"… {len(found) - _SHOWN} more")
    message = "\n  ".join((f"{how}.", *rows))
    return BuildFailed(message, next=plan.advice(output) or _show_first_error(found, plan.cwd, cwd))


def _row(each: CompilerError, base: str, cwd: str) -> str:
    text = each.text if len(each.text) <= _LINE else each.text[: _LINE - 1] + "…"
    if each.file is None:
        return text
    location = [shown_path(os.path.join(base, each.file), cwd)]
    location += [str(number) for number in (each.line, each.column) if number is not None]
    return f"{':'.join(location)}: {text}"


def _show_first_error(found: Sequence[CompilerError], base: str, cwd: str) -> str | None:
    """Return the command that shows the first error in its source."""
    for each in found:
        if each.file is not None and each.line is not None:
            path = shown_path(os.path.join(base, each.file), cwd)
            return f"dbg source {path}:{each.line}"
    return None


def prune(now: float | None = None) -> None:
    """Remove builds that were not used for long."""
    limit = (time.time() if now is None else now) - _MAX_AGE_S
    try:
        entries = list(os.scandir(paths.builds_dir()))
    except OSError:
        return
    for entry in entries:
        with contextlib.suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < limit:
                shutil.rmtree(entry.path, ignore_errors=True)
