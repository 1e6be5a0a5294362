"""OCaml: compile one file and the modules next to it that it uses to bytecode for ocamldebug."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from freezeframe import files
from freezeframe.backends.transport.run_command import CommandResult
from freezeframe.errors import BuildFailed

from . import compilers
from .build_plan import FOLDER, BuildPlan, BuildRequest, CompilerError, Toolchain

_INSTALL = "apt-get install ocaml-nox"
_FLAGS = "-g"
#: libraries that come with the compiler, by a module of theirs
_LIBRARIES = {"Unix": "unix", "Str": "str", "Thread": "threads", "Mutex": "threads"}
_MODULE = re.compile(r"\b[A-Z]\w*")
_PROJECT = "dune-project"
#: One file after the other, in dependency order; the products go into the folder, not next to the
#: sources. `$0` is the compiler, the arguments after it are the sources.
_SCRIPT = f"""set -e
made=
for file in $(ocamldep -sort "$@"); do
    stem=${{file%.*}}
    case $file in
    *.mli) "$0" {_FLAGS} @include@ -I {FOLDER} -c -o {FOLDER}/$stem.cmi $file ;;
    *)
        "$0" {_FLAGS} @include@ -I {FOLDER} -c -o {FOLDER}/$stem.cmo $file
        made="$made {FOLDER}/$stem.cmo"
        ;;
    esac
done
"$0" {_FLAGS} @include@ @linked@ -o {FOLDER}/@product@ $made
"""


async def _plan(request: BuildRequest) -> BuildPlan | None:
    if request.tests:
        return None
    if os.path.isdir(request.path):
        raise BuildFailed(
            f"{request.shown(request.path)} is a dune project, which dune builds.",
            next=_by_dune("bin/main.ml"),
        )
    folder, file = os.path.split(request.path)
    compiler = compilers.need(("ocamlc",), request.env, what=file, install=_INSTALL)
    parts, libraries = _needs(folder, file)
    stem = os.path.splitext(file)[0]
    script = _SCRIPT.replace("@include@", " ".join(f"-I +{name}" for name in libraries))
    script = script.replace("@linked@", " ".join(f"{name}.cma" for name in _linked(libraries)))
    script = script.replace("@product@", shlex.quote(f"{stem}.bc"))
    return BuildPlan(
        source=request.path,
        argv=("/bin/sh", "-c", script, compiler, *parts),
        cwd=folder,
        product=f"{stem}.bc",
        display=f"{os.path.basename(compiler)} {_FLAGS}",
        read_errors=read_errors,
        name=stem,
        # The errors are parsed, so they must be in English.
        env={"LC_ALL": "C", "OCAML_COLOR": "never"},
        kind="ocaml",
        advice=lambda output: _advice(folder, file, output),
    )


def _needs(folder: str, file: str) -> tuple[list[str], list[str]]:
    """Return the sources of a program, and the libraries that it uses."""
    there = {name for name in os.listdir(folder) if name.endswith((".ml", ".mli"))}
    found: dict[str, None] = {}
    libraries: dict[str, None] = {}
    unread = [file]
    while unread:
        name = unread.pop()
        if name in found:
            continue
        found[name] = None
        text = files.read_head(os.path.join(folder, name), 4_000_000)
        modules = set(_MODULE.findall(text.decode("utf-8", "replace")))
        libraries |= dict.fromkeys(_LIBRARIES[each] for each in modules if each in _LIBRARIES)
        stem = os.path.splitext(name)[0]
        for each in (stem, *(module[0].lower() + module[1:] for module in sorted(modules))):
            unread += [beside for beside in (f"{each}.ml", f"{each}.mli") if beside in there]
    return sorted(found), sorted(libraries)


def _linked(libraries: Sequence[str]) -> list[str]:
    """Return the libraries to link: threads needs unix."""
    required = ["unix"] if "threads" in libraries and "unix" not in libraries else []
    return [*required, *sorted(libraries, key=lambda name: name == "threads")]


_ERROR = re.compile(
    r'^File "(?P<file>[^"\n]+)", lines? (?P<line>\d+)(?:-\d+)?, characters (?P<column>\d+)-\d+:\n'
    r"(?:.*\n)*?Error(?: \([^)]*\))?: (?P<text>.*(?:\n[ \t]+\S.*)*)",
    re.MULTILINE,
)
_BARE_ERROR = re.compile(
    r'^(?:File "(?P<file>[^"\n]+)", line 1:\n)?Error: (?P<text>.*(?:\n[ \t]+\S.*)*)', re.MULTILINE
)


def read_errors(result: CommandResult) -> list[CompilerError]:
    """Return the errors of ocamlc and ocamldep."""
    output = result.err + result.out
    found = [
        CompilerError(
            " ".join(match["text"].split()),
            match["file"],
            int(match["line"]),
            int(match["column"]) + 1,
        )
        for match in _ERROR.finditer(output)
    ]
    found = found or [
        CompilerError(" ".join(match["text"].split())) for match in _BARE_ERROR.finditer(output)
    ]
    # Both tools report what neither can parse.
    return list(dict.fromkeys(found))


def _advice(folder: str, file: str, output: str) -> str | None:
    if "Unbound module" not in output and "No implementations provided" not in output:
        return None
    here, below = folder, file
    while not os.path.isfile(os.path.join(here, _PROJECT)):
        parent, name = os.path.split(here)
        if parent == here:
            return "ocamlfind ocamlc -g -package NAME -linkpkg FILE.ml -o NAME.bc"
        here, below = parent, os.path.join(name, below)
    return _by_dune(below)


def _by_dune(file: str) -> str:
    program = f"{os.path.splitext(file)[0]}.bc"
    dune_file = os.path.join(os.path.dirname(file), "dune")
    return (
        f"dune build ./{program} && dbg start _build/default/{program}"
        f"  # with (modes byte exe) in {dune_file}"
    )


TOOLCHAINS = (Toolchain(language="OCaml", suffixes=(".ml",), plan=_plan, projects=(_PROJECT,)),)
