"""Rust: cargo for a package, rustc for a file outside any package."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from freezeframe.backends.transport.run_command import CommandResult, run
from freezeframe.errors import BuildFailed, NotFound

from . import compilers
from .build_plan import FOLDER, BuildPlan, BuildRequest, CompilerError, Toolchain

_MANIFEST = "Cargo.toml"
_BESIDE = ("$CARGO_HOME/bin", "~/.cargo/bin")
_INSTALL = "apt-get install cargo"
_MESSAGES = "--message-format=json-diagnostic-short"


async def _plan(request: BuildRequest) -> BuildPlan | None:
    root = _package_above(request.path)
    if root is not None:
        return await _package(request, root)
    if os.path.isdir(request.path) or request.tests:
        return None
    return _file(request)


def _package_above(path: str) -> str | None:
    """Return the folder of the manifest of the package that contains a path."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    while True:
        if os.path.isfile(os.path.join(folder, _MANIFEST)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _file(request: BuildRequest) -> BuildPlan:
    folder, file = os.path.split(request.path)
    stem = os.path.splitext(file)[0]
    compiler = compilers.need(
        ("rustc",), request.env, what=file, install="apt-get install rustc", beside=_BESIDE
    )
    flags = ("-g", "--edition=2021")
    output = ("--emit=link,dep-info", "--out-dir", FOLDER, "--crate-name", _crate(stem))
    return BuildPlan(
        source=request.path,
        argv=(compiler, *flags, "--error-format=short", *output, file),
        cwd=folder,
        product=_crate(stem),
        display=f"rustc {' '.join(flags)}",
        read_errors=read_errors,
        name=stem,
        rules=f"{_crate(stem)}.d",
    )


def _crate(stem: str) -> str:
    name = re.sub(r"\W", "_", stem)
    return f"_{name}" if name[:1].isdigit() else name


_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): error(?:\[\w+\])?: (?P<text>.*)$", re.M
)
_BARE_ERROR = re.compile(r"^error(?:\[\w+\])?: (?P<text>(?!aborting|could not compile).*)$", re.M)


def read_errors(result: CommandResult) -> list[CompilerError]:
    """Return the errors of rustc in its short format."""
    found = [
        CompilerError(match["text"], match["file"], int(match["line"]), int(match["column"]))
        for match in _ERROR.finditer(result.err)
    ]
    return found or [CompilerError(match["text"]) for match in _BARE_ERROR.finditer(result.err)]


# --- packages ------------------------------------------------------------------------------


async def _package(request: BuildRequest, root: str) -> BuildPlan:
    cargo = compilers.need(
        ("cargo",), request.env, what=request.shown(request.path), install=_INSTALL, beside=_BESIDE
    )
    # cargo runs rustc by name, which is in the same directory.
    path = os.pathsep.join((request.env.get("PATH", os.defpath), os.path.dirname(cargo)))
    env = {"PATH": path}
    result = await run(
        (cargo, "metadata", "--no-deps", "--format-version=1"),
        cwd=root,
        env={**request.env, **env},
        timeout_s=request.timeout_s,
    )
    if result.status != 0:
        errors = [c.text for c in read_errors(result)] or result.err.strip().splitlines()
        why = errors[0] if errors else f"cargo ended with {result.status}"
        raise BuildFailed(
            f"{root} is not a package that cargo can read: {why}.", next="cargo check"
        )
    metadata = json.loads(result.out)
    package, target = _target(metadata, request, root)
    kind, name = target["kind"][0], target["name"]
    which = {"bin": "--bin", "example": "--example", "bench": "--bench", "test": "--test"}
    tests = request.tests or kind == "test"
    if tests:
        one = (which[kind], name) if kind in which else ("--lib",)
        what: tuple[str, ...] = ("test", "--no-run", *one)
    else:
        what = ("build", which[kind], name)
    display = " ".join(("cargo", *what))
    return BuildPlan(
        source=request.path,
        argv=(
            cargo,
            *what,
            "--manifest-path",
            package["manifest_path"],
            _MESSAGES,
        ),
        cwd=root,
        product="",
        display=display,
        read_errors=read_messages,
        read_product=partial(_read_executable, target["src_path"]),
        name=f"{name}-tests" if tests and kind != "test" else name,
        env=env,
        incremental=True,
        shared=f"cargo {metadata.get('workspace_root') or root}",
        # As `cargo test` and `cargo run` do.
        run_in=os.path.dirname(package["manifest_path"]) if tests else None,
    )


def _target(
    metadata: Mapping[str, Any], request: BuildRequest, root: str
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the package and the target that a path names."""
    here = [p for p in metadata["packages"] if os.path.dirname(p["manifest_path"]) == root]
    every = [(package, target) for package in metadata["packages"] for target in package["targets"]]
    for package, target in every:
        is_runnable = target["kind"][0] in ("bin", "example", "test", "bench") or request.tests
        if os.path.realpath(target["src_path"]) == os.path.realpath(request.path) and is_runnable:
            return package, target
    packages = here or metadata["packages"]
    targets = [(p, t) for p in packages for t in p["targets"]]
    programs = [(p, t) for p, t in targets if t["kind"][0] == "bin"]
    if request.tests:
        programs = [(p, t) for p, t in targets if "lib" in t["kind"]] or programs
    default = [(p, t) for p, t in programs if t["name"] == p.get("default_run")]
    chosen = default or programs
    shown = request.shown(request.path)
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise NotFound(
            f"{shown} belongs to a library: nothing in its package runs by itself.",
            next=f"dbg start cargo test{_from(request.cwd, root)}",
        )
    files = [request.shown(t["src_path"]) for _, t in chosen]
    flag = "-m test " if request.tests else ""
    raise NotFound(
        f"{shown} belongs to a package with {len(files)} programs: {', '.join(files)}.",
        next=f"dbg start {flag}{files[0]}",
    )


def messages(result: CommandResult) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of a command with `--message-format=json`."""
    for line in result.out.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def read_messages(result: CommandResult) -> list[CompilerError]:
    """Return the errors in JSON messages of a compiler."""
    found = []
    for each in messages(result):
        message = each.get("message") or {}
        if each.get("reason") != "compiler-message" or message.get("level") != "error":
            continue
        span = next((s for s in message.get("spans") or () if s.get("is_primary")), None)
        if span is not None:
            location = span["file_name"], span["line_start"], span["column_start"]
            found.append(CompilerError(message["message"], *location))
        elif not message["message"].startswith("aborting"):
            found.append(CompilerError(message["message"]))
    return found or read_errors(result)


def _read_executable(source: str, result: CommandResult) -> str | None:
    for each in messages(result):
        executable = each.get("executable")
        if executable and (each.get("target") or {}).get("src_path") == source:
            return str(executable)
    return None


def _from(cwd: str, root: str) -> str:
    """Return the option that points cargo to a package outside the user's directory."""
    inside = os.path.relpath(cwd, root)
    if not inside.startswith(os.pardir):
        return ""
    return f" --manifest-path {os.path.relpath(os.path.join(root, _MANIFEST), cwd)}"


def _programs(directory: str) -> list[str]:
    return ["."]


TOOLCHAINS = (
    Toolchain(
        language="Rust",
        suffixes=(".rs",),
        plan=_plan,
        projects=(_MANIFEST,),
        tests=True,
        programs=_programs,
    ),
)
