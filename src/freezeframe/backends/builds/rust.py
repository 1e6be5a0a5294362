"""Rust: cargo for a package, rustc for a file that is in none."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from freezeframe.backends.transport.run import Ran, run
from freezeframe.errors import BuildFailed, NotFound

from . import tools
from .recipe import FOLDER, Complaint, Recipe, Toolchain, Wish

_MANIFEST = "Cargo.toml"
_BESIDE = ("$CARGO_HOME/bin", "~/.cargo/bin")
_INSTALL = "apt-get install cargo"
_MESSAGES = "--message-format=json-diagnostic-short"


async def _plan(wish: Wish) -> Recipe | None:
    root = _package_above(wish.path)
    if root is not None:
        return await _package(wish, root)
    if os.path.isdir(wish.path) or wish.tests:
        return None
    return _file(wish)


def _package_above(path: str) -> str | None:
    """Return the folder of the manifest that a file or folder belongs to."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    while True:
        if os.path.isfile(os.path.join(folder, _MANIFEST)):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _file(wish: Wish) -> Recipe:
    folder, file = os.path.split(wish.path)
    stem = os.path.splitext(file)[0]
    compiler = tools.need(
        ("rustc",), wish.env, what=file, install="apt-get install rustc", beside=_BESIDE
    )
    flags = ("-g", "--edition=2021")
    output = ("--emit=link,dep-info", "--out-dir", FOLDER, "--crate-name", _crate(stem))
    return Recipe(
        source=wish.path,
        argv=(compiler, *flags, "--error-format=short", *output, file),
        cwd=folder,
        product=_crate(stem),
        words=f"rustc {' '.join(flags)}",
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


def read_errors(ran: Ran) -> list[Complaint]:
    """Return the errors of rustc in its short form."""
    found = [
        Complaint(match["text"], match["file"], int(match["line"]), int(match["column"]))
        for match in _ERROR.finditer(ran.err)
    ]
    return found or [Complaint(match["text"]) for match in _BARE_ERROR.finditer(ran.err)]


# --- packages ------------------------------------------------------------------------------


async def _package(wish: Wish, root: str) -> Recipe:
    cargo = tools.need(
        ("cargo",), wish.env, what=wish.shown(wish.path), install=_INSTALL, beside=_BESIDE
    )
    # It calls rustc by name, which is beside it.
    path = os.pathsep.join((wish.env.get("PATH", os.defpath), os.path.dirname(cargo)))
    env = {"PATH": path}
    asked = await run(
        (cargo, "metadata", "--no-deps", "--format-version=1"),
        cwd=root,
        env={**wish.env, **env},
        timeout_s=wish.timeout_s,
    )
    if asked.status != 0:
        said = [c.text for c in read_errors(asked)] or asked.err.strip().splitlines()
        why = said[0] if said else f"cargo ended with {asked.status}"
        raise BuildFailed(f"{root} is no package that cargo can read: {why}.", next="cargo check")
    metadata = json.loads(asked.out)
    package, target = _target(metadata, wish, root)
    kind, name = target["kind"][0], target["name"]
    which = {"bin": "--bin", "example": "--example", "bench": "--bench", "test": "--test"}
    tests = wish.tests or kind == "test"
    if tests:
        one = (which[kind], name) if kind in which else ("--lib",)
        what: tuple[str, ...] = ("test", "--no-run", *one)
    else:
        what = ("build", which[kind], name)
    words = " ".join(("cargo", *what))
    return Recipe(
        source=wish.path,
        argv=(
            cargo,
            *what,
            "--manifest-path",
            package["manifest_path"],
            "--message-format=json-diagnostic-short",
        ),
        cwd=root,
        product="",
        words=words,
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
    metadata: Mapping[str, Any], wish: Wish, root: str
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the package and the one of its targets that a path means."""
    here = [p for p in metadata["packages"] if os.path.dirname(p["manifest_path"]) == root]
    every = [(package, target) for package in metadata["packages"] for target in package["targets"]]
    for package, target in every:
        runs = target["kind"][0] in ("bin", "example", "test", "bench") or wish.tests
        if os.path.realpath(target["src_path"]) == os.path.realpath(wish.path) and runs:
            return package, target
    packages = here or metadata["packages"]
    targets = [(p, t) for p in packages for t in p["targets"]]
    programs = [(p, t) for p, t in targets if t["kind"][0] == "bin"]
    if wish.tests:
        programs = [(p, t) for p, t in targets if "lib" in t["kind"]] or programs
    default = [(p, t) for p, t in programs if t["name"] == p.get("default_run")]
    chosen = default or programs
    shown = wish.shown(wish.path)
    if len(chosen) == 1:
        return chosen[0]
    if not chosen:
        raise NotFound(
            f"{shown} belongs to a library: nothing in its package runs by itself.",
            next=f"dbg start cargo test{_from(wish.cwd, root)}",
        )
    files = [wish.shown(t["src_path"]) for _, t in chosen]
    flag = "-m test " if wish.tests else ""
    raise NotFound(
        f"{shown} is of a package with {len(files)} programs: {', '.join(files)}.",
        next=f"dbg start {flag}{files[0]}",
    )


def messages(ran: Ran) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of a command with `--message-format=json`."""
    for line in ran.out.splitlines():
        if line.startswith("{"):
            yield json.loads(line)


def read_messages(ran: Ran) -> list[Complaint]:
    """Return the errors of a compiler whose messages are JSON."""
    found = []
    for each in messages(ran):
        message = each.get("message") or {}
        if each.get("reason") != "compiler-message" or message.get("level") != "error":
            continue
        span = next((s for s in message.get("spans") or () if s.get("is_primary")), None)
        if span is not None:
            place = span["file_name"], span["line_start"], span["column_start"]
            found.append(Complaint(message["message"], *place))
        elif not message["message"].startswith("aborting"):
            found.append(Complaint(message["message"]))
    return found or read_errors(ran)


def _read_executable(source: str, ran: Ran) -> str | None:
    for each in messages(ran):
        made = each.get("executable")
        if made and (each.get("target") or {}).get("src_path") == source:
            return str(made)
    return None


def _from(cwd: str, root: str) -> str:
    """Return the option that leads cargo to a package which the user is not in."""
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
