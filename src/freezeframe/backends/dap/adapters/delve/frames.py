"""Goroutines and frames: their names, whether they are user code, and what they wait for."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from freezeframe import files
from freezeframe.backends.backend import RawFrame, Target

_THREAD = re.compile(
    r"(?:\* )?\[Go (?P<id>\d+)(?P<labels>[^\]]*)\] (?P<function>.*?)(?P<thread> \(Thread \d+\))?"
)


def thread_name(name: str) -> str:
    """Return a goroutine's pprof labels, by which it can be identified."""
    match = _THREAD.fullmatch(name)
    if match is None:
        return "" if name == _DUMMY else name
    labels = match["labels"].split()
    return " ".join(label.partition(":")[2] or label for label in labels)


#: delve's entry in the list of goroutines when it cannot read them, and the id of the current
#: system thread, whose stack needs only the table of functions
_DUMMY, _CURRENT = "Dummy", -1


def thread_id(thread: Mapping[str, Any]) -> int:
    """Return the id that requests use for a goroutine."""
    return _CURRENT if thread.get("name") == _DUMMY else int(thread["id"])


def was_running(name: str) -> bool:
    """Return whether a goroutine ran on a system thread when the program was halted."""
    match = _THREAD.fullmatch(name)
    return match is not None and match["thread"] is not None


#: why a goroutine enters these functions of the runtime, in the terms of Go's stack traces
_WAITS = {
    "runtime.chanrecv": "chan receive",
    "runtime.chansend": "chan send",
    "runtime.selectgo": "select",
    "runtime.block": "select (no cases)",
    "runtime.netpollblock": "IO wait",
    "time.Sleep": "sleep",
    "sync.(*Mutex).Lock": "sync.Mutex.Lock",
    "sync.(*RWMutex).Lock": "sync.RWMutex.Lock",
    "sync.(*RWMutex).RLock": "sync.RWMutex.RLock",
    "sync.(*WaitGroup).Wait": "sync.WaitGroup.Wait",
    "sync.(*Cond).Wait": "sync.Cond.Wait",
    "syscall.Syscall": "system call",
    "syscall.Syscall6": "system call",
}


def read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    waits = _WAITS.get(frame.function)
    return replace(frame, waits=waits) if waits else frame


def is_library(path: str, target: Target) -> bool:
    if "/pkg/mod/" in path or "/vendor/" in path:
        return True
    root, source, inside = path.rpartition("/src/")
    if source and _is_goroot(root):
        return True
    # Built with -trimpath, or elsewhere: the first element of a standard package's path has no dot.
    first = inside.partition("/")[0] if source else ""
    return bool(source) and "." not in first and re.search(r"/go[-\d.]*$", root) is not None


@functools.lru_cache(maxsize=64)
def _is_goroot(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "src", "runtime", "proc.go"))


def function_name(name: str) -> str:
    """Return a function's name with only the last element of its package path."""
    return PACKAGE_PATH.sub("", name)


#: the path before a package's name
PACKAGE_PATH = re.compile(r"(?<![\w./~-])(?:[\w.~-]+/)+(?=[\w-]+\.)")
_SIGNATURE = r"^func\s*(?:\((?P<receiver>[^)]*)\)\s*)?%s(?:\[[^\]]*\])?\s*\("


def result_names(variables: Sequence[str], path: str, line: int, function: str) -> Sequence[str]:
    """Return those of a frame's variables that are results: delve calls unnamed ones `~r0`."""
    unnamed = [name for name in variables if re.fullmatch(r"~r\d+", name)]
    if unnamed:
        return sorted(unnamed, key=lambda name: int(name[2:]))
    found = _signature(path, line, function)
    if found is None:
        return []
    results = found[1].lstrip()
    named = names_in(_until_closed(results[1:])) if results.startswith("(") else []
    return [name for name in named if name in variables]


def argument_names(path: str, line: int, function: str) -> Sequence[str] | None:
    """Return the names in the signature of the function around a line, from its source."""
    found = _signature(path, line, function)
    return None if found is None else found[0]


def _signature(path: str, line: int, function: str) -> tuple[list[str], str] | None:
    """Return the parameters of the function around a line, and the source after them."""
    if ".func" in function:
        return None
    # The types of an instance: `main.Sum[...]`, `main.Pair[go.shape.map[string]int]`.
    removed = 1
    while removed:
        function, removed = re.subn(r"\[[^\[\]]*\]", "", function)
    name = function.rpartition(".")[2]
    try:
        text = "".join(files.read_text(path).splitlines(keepends=True)[:line])
    except OSError:
        return None
    text = re.sub(r"//.*|/\*.*?\*/", "", text)
    found = list(re.finditer(_SIGNATURE % re.escape(name), text, re.MULTILINE))
    if not found:
        return None
    names = names_in(found[-1]["receiver"] or "")
    behind = text[found[-1].end() :]
    parameters = _until_closed(behind)
    return names + names_in(parameters), behind[len(parameters) + 1 :]


def package_of(function: str, folder: str) -> str | None:
    """Return the import path of the package in a folder, if it has that function; its name if it
    is in no module."""
    pattern = re.compile(rf"^func {function}[(\[]", re.MULTILINE)
    for path in sorted(Path(folder).glob("*.go")):
        text = _text(path)
        package = re.search(r"^package\s+(\w+)", text, re.MULTILINE)
        if package is not None and pattern.search(text):
            name = package[1]
            found = None if name == "main" else _import_path(Path(folder))
            # Tests of a package from outside are a package of their own.
            outside = "_test" if name.endswith("_test") else ""
            return f"{found}{outside}" if found else name
    return None


def _import_path(folder: Path) -> str | None:
    """Return the import path of the package in a folder of a module."""
    for above in (folder, *folder.parents):
        module = re.search(r'^module\s+"?([^\s"]+)', _text(above / "go.mod"), re.MULTILINE)
        if module is not None:
            inside = folder.relative_to(above).as_posix()
            return module[1] if inside == "." else f"{module[1]}/{inside}"
    return None


def own_function(name: str, program: str) -> str | None:
    """Return the function of that name in the main package, else the only function or method of
    that name in the module; None if there is none or several."""
    try:
        return _own_function(name, program, os.stat(program).st_mtime_ns)
    except (OSError, ValueError):
        return None


_MODULE = re.compile(rb"\nmod\t([^\t\n]+)")
#: the longest function name that is searched
_LONGEST = 500


@functools.lru_cache(maxsize=256)
def _own_function(name: str, program: str, stamp: int) -> str | None:
    found = set()
    suffix = f".{name}\0".encode()
    with files.mapped(program) as view:
        at = view.find(suffix)
        while at >= 0:
            before = view[max(0, at - _LONGEST) : at].rpartition(b"\0")[2]
            found.add(before.decode("utf-8", "replace"))
            at = view.find(suffix, at + 1)
        module = _MODULE.search(view) if found - {"main"} else None
        path = module[1].decode("utf-8", "replace") if module else None
    if "main" in found:
        return f"main.{name}"
    own_packages = [
        each for each in found if path and re.match(rf"{re.escape(path)}[./]", f"{each}.")
    ]
    return f"{own_packages[0]}.{name}" if len(own_packages) == 1 else None


def _text(path: Path) -> str:
    try:
        return files.read_text(path)
    except OSError:
        return ""


def _until_closed(text: str) -> str:
    depth = 1
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0:
            return text[:at]
    return text


def names_in(parameters: str) -> list[str]:
    """Return `a`, `b` and `c` for `a, b int, c func(x int)`."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(parameters):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(parameters[begin:at])
            begin = at + 1
    parts.append(parameters[begin:])
    fields = [part.split() for part in parts if part.strip()]
    return [each[0] for each in fields if each[0].isidentifier()]
