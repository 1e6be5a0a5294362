"""Build a program into a folder of our cache, unless it is there and up to date."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from freezeframe import files, paths
from freezeframe.backends.transport.run import Ran, run
from freezeframe.errors import BuildFailed, DebuggerTimeout

from .recipe import FOLDER, Complaint, Recipe, shown_path

#: a program that nobody has started for so long is built again when somebody does
_KEPT_S = 14 * 24 * 3600
#: of files that are looked at before a program is simply built again
_MOST_SOURCES = 5_000
_SHOWN = 8
_LINE = 240


@dataclass(frozen=True, slots=True)
class Built:
    """A program that is ready to be started."""

    recipe: Recipe
    program: str
    #: it was made just now; else it was up to date
    new: bool
    took_s: float = 0.0

    def note(self, cwd: str) -> str:
        """Say what was built with what, in one line."""
        what = shown_path(self.recipe.source, cwd)
        if not self.new:
            return f"built before: {what} with {self.recipe.words}, up to date"
        return f"built: {what} with {self.recipe.words} in {self.took_s:.1f} s"


async def make(recipe: Recipe, *, env: Mapping[str, str], cwd: str, timeout_s: float) -> Built:
    """Build it where that is needed. *cwd* is the reader's, for the paths in complaints.

    Raises BuildFailed with the compiler's first errors.
    """
    folder = _folder(recipe)
    known = await asyncio.to_thread(_up_to_date, recipe, folder)
    if known is not None:
        os.utime(folder)
        return Built(recipe, known, new=False)
    stamp = _stamp(recipe, folder)
    before = _identity(_read(stamp))
    with contextlib.suppress(FileNotFoundError):
        os.unlink(stamp)
    began_ns = time.time_ns()
    argv = [word.replace(FOLDER, folder) for word in recipe.argv]
    added = {name: value.replace(FOLDER, folder) for name, value in recipe.env.items()}
    try:
        ran = await run(argv, cwd=recipe.cwd, env={**env, **added}, timeout_s=timeout_s)
    except DebuggerTimeout as error:
        raise BuildFailed(f"{error.message} See timeouts.build_s.", next="dbg config") from None
    program = recipe.read_product(ran) or os.path.join(folder, recipe.product)
    if ran.status != 0 or not os.path.exists(program):
        raise _failure(recipe, ran, cwd)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(program)
    # What was changed while it was built is newer than this, and will be built again.
    os.utime(stamp, ns=(began_ns, began_ns))
    os.utime(folder)
    await asyncio.to_thread(prune)
    new = not recipe.incremental or _identity(program) != before
    return Built(recipe, program, new, ran.took_s)


def _folder(recipe: Recipe) -> str:
    """Return the recipe's own folder, which is there and is ours alone."""
    key = recipe.shared or _key(recipe)
    with contextlib.suppress(OSError):
        key += str(os.stat(recipe.argv[0]).st_mtime_ns)
    name = re.sub(
        r"[^\w.+-]", "_", os.path.basename(recipe.shared) if recipe.shared else recipe.name
    )[:40]
    paths.secure(paths.builds_dir())
    return paths.secure(os.path.join(paths.builds_dir(), f"{name}-{_digest(key)}"))


def _key(recipe: Recipe) -> str:
    added = (f"{name}={value}" for name, value in recipe.env.items())
    return "\0".join((recipe.cwd, *recipe.argv, *added))


def _digest(key: str) -> str:
    import hashlib  # few daemons ever build anything

    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _stamp(recipe: Recipe, folder: str) -> str:
    """Return the file that names the program, and whose time is that of its making."""
    return os.path.join(folder, f".built-{_digest(_key(recipe))}")


def _up_to_date(recipe: Recipe, folder: str) -> str | None:
    """Return the program that was made, when nothing that it was made of is newer."""
    if recipe.rules is None and recipe.sources is None:
        return None
    stamp = _stamp(recipe, folder)
    try:
        made_ns = os.stat(stamp).st_mtime_ns
        program = _read(stamp)
        sources = [recipe.source, *_sources(recipe, folder)]
        newest = max(os.stat(os.path.join(recipe.cwd, each)).st_mtime_ns for each in sources)
    except OSError:
        return None
    return program if newest < made_ns and program and os.path.exists(program) else None


def _sources(recipe: Recipe, folder: str) -> list[str]:
    """Return the files that a program was made of. Raises OSError where they cannot be told."""
    if recipe.rules is not None:
        with open(os.path.join(folder, recipe.rules), encoding="utf-8", errors="replace") as file:
            return _prerequisites(file.read())
    assert recipe.sources is not None
    root, suffix = recipe.sources
    found: list[str] = []
    for here, folders, names in os.walk(root):
        folders[:] = [each for each in folders if not each.startswith(".")]
        # A folder's own time tells of files that were added or taken away.
        found += [here, *(os.path.join(here, name) for name in names if name.endswith(suffix))]
        if len(found) > _MOST_SOURCES:
            raise OSError(f"{root} has too many files to look at")
    return found


def _read(stamp: str) -> str | None:
    """Return the program that was built last."""
    try:
        return files.read_text(stamp)
    except OSError:
        return None


def _prerequisites(rules: str) -> list[str]:
    """Return the files that make rules name behind a colon."""
    found = []
    for line in rules.replace("\\\n", " ").splitlines():
        if line.startswith("#"):
            continue
        _, colon, names = line.partition(": ")
        if colon:
            words = re.split(r"(?<!\\)\s+", names.strip())
            found += [word.replace("\\ ", " ").replace("$$", "$") for word in words if word]
    return found


def _identity(program: str | None) -> tuple[str, int, int] | None:
    """Return what changes when a program is made anew; its time does even when it is not (Go)."""
    try:
        facts = os.stat(program) if program is not None else None
    except OSError:
        return None
    return None if program is None or facts is None else (program, facts.st_ino, facts.st_size)


def _failure(recipe: Recipe, ran: Ran, cwd: str) -> BuildFailed:
    found = list(recipe.read_errors(ran))
    what = shown_path(recipe.source, cwd)
    said = ran.err.strip() or ran.out.strip()
    if not found:
        lines = said.splitlines()[-_SHOWN:] or [f"it ended with {ran.status}"]
        found = [Complaint(line) for line in lines]
        how = f"{what} could not be built with {recipe.words}"
    else:
        count = f"{len(found)} errors" if len(found) > 1 else "1 error"
        how = f"{what} does not build with {recipe.words}: {count}"
    rows = [_row(each, recipe.cwd, cwd) for each in found[:_SHOWN]]
    if len(found) > _SHOWN:
        rows.append(f"… {len(found) - _SHOWN} more")
    message = "\n  ".join((f"{how}.", *rows))
    return BuildFailed(message, next=recipe.advice(said) or _look(found, recipe.cwd, cwd))


def _row(each: Complaint, base: str, cwd: str) -> str:
    text = each.text if len(each.text) <= _LINE else each.text[: _LINE - 1] + "…"
    if each.file is None:
        return text
    place = [shown_path(os.path.join(base, each.file), cwd)]
    place += [str(number) for number in (each.line, each.column) if number is not None]
    return f"{':'.join(place)}: {text}"


def _look(found: Sequence[Complaint], base: str, cwd: str) -> str | None:
    """Return the command that shows the first error in its source."""
    for each in found:
        if each.file is not None and each.line is not None:
            path = shown_path(os.path.join(base, each.file), cwd)
            return f"dbg source {path}:{each.line}"
    return None


def prune(now: float | None = None) -> None:
    """Remove programs that nobody has started for long."""
    limit = (time.time() if now is None else now) - _KEPT_S
    try:
        entries = list(os.scandir(paths.builds_dir()))
    except OSError:
        return
    for entry in entries:
        with contextlib.suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < limit:
                shutil.rmtree(entry.path, ignore_errors=True)
