"""OCaml: one file and the modules beside it that it names, made into bytecode for its debugger."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from freezeframe import files
from freezeframe.backends.transport.run import Ran
from freezeframe.errors import BuildFailed

from . import tools
from .recipe import FOLDER, Complaint, Recipe, Toolchain, Wish

_INSTALL = "apt-get install ocaml-nox"
_FLAGS = "-g"
#: libraries that come with the compiler, by a module of theirs that a program names
_LIBRARIES = {"Unix": "unix", "Str": "str", "Thread": "threads", "Mutex": "threads"}
_MODULE = re.compile(r"\b[A-Z]\w*")
_PROJECT = "dune-project"
#: One after the other, as they need each other; the products go into the folder, not beside the
#: sources. `$0` is the compiler, the words behind it are the sources.
_SCRIPT = f"""set -e
made=
for file in $(ocamldep -sort "$@"); do
    stem=${{file%.*}}
    case $file in
    *.mli) "$0" {_FLAGS} @seen@ -I {FOLDER} -c -o {FOLDER}/$stem.cmi $file ;;
    *)
        "$0" {_FLAGS} @seen@ -I {FOLDER} -c -o {FOLDER}/$stem.cmo $file
        made="$made {FOLDER}/$stem.cmo"
        ;;
    esac
done
"$0" {_FLAGS} @seen@ @linked@ -o {FOLDER}/@product@ $made
"""


async def _plan(wish: Wish) -> Recipe | None:
    if wish.tests:
        return None
    if os.path.isdir(wish.path):
        raise BuildFailed(
            f"{wish.shown(wish.path)} is a dune project, of which dune makes a program.",
            next=_by_dune("bin/main.ml"),
        )
    folder, file = os.path.split(wish.path)
    compiler = tools.need(("ocamlc",), wish.env, what=file, install=_INSTALL)
    parts, libraries = _needs(folder, file)
    stem = os.path.splitext(file)[0]
    script = _SCRIPT.replace("@seen@", " ".join(f"-I +{name}" for name in libraries))
    script = script.replace("@linked@", " ".join(f"{name}.cma" for name in _linked(libraries)))
    script = script.replace("@product@", shlex.quote(f"{stem}.bc"))
    return Recipe(
        source=wish.path,
        argv=("/bin/sh", "-c", script, compiler, *parts),
        cwd=folder,
        product=f"{stem}.bc",
        words=f"{os.path.basename(compiler)} {_FLAGS}",
        read_errors=read_errors,
        name=stem,
        # Complaints are read, so they must be in English.
        env={"LC_ALL": "C", "OCAML_COLOR": "never"},
        kind="ocaml",
        advice=lambda words: _advice(folder, file, words),
    )


def _needs(folder: str, file: str) -> tuple[list[str], list[str]]:
    """Return the sources of a program, and the libraries that it names."""
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
    """Return what is linked: threads stand on another library."""
    under = ["unix"] if "threads" in libraries and "unix" not in libraries else []
    return [*under, *sorted(libraries, key=lambda name: name == "threads")]


_ERROR = re.compile(
    r'^File "(?P<file>[^"\n]+)", lines? (?P<line>\d+)(?:-\d+)?, characters (?P<column>\d+)-\d+:\n'
    r"(?:.*\n)*?Error(?: \([^)]*\))?: (?P<text>.*(?:\n[ \t]+\S.*)*)",
    re.MULTILINE,
)
_BARE_ERROR = re.compile(
    r'^(?:File "(?P<file>[^"\n]+)", line 1:\n)?Error: (?P<text>.*(?:\n[ \t]+\S.*)*)', re.MULTILINE
)


def read_errors(ran: Ran) -> list[Complaint]:
    """Return the errors of ocamlc and ocamldep."""
    words = ran.err + ran.out
    found = [
        Complaint(
            " ".join(match["text"].split()),
            match["file"],
            int(match["line"]),
            int(match["column"]) + 1,
        )
        for match in _ERROR.finditer(words)
    ]
    found = found or [
        Complaint(" ".join(match["text"].split())) for match in _BARE_ERROR.finditer(words)
    ]
    # Both tools complain about what neither can read.
    return list(dict.fromkeys(found))


def _advice(folder: str, file: str, words: str) -> str | None:
    if "Unbound module" not in words and "No implementations provided" not in words:
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
    where = os.path.join(os.path.dirname(file), "dune")
    return (
        f"dune build ./{program} && dbg start _build/default/{program}"
        f"  # with (modes byte exe) in {where}"
    )


TOOLCHAINS = (Toolchain(language="OCaml", suffixes=(".ml",), plan=_plan, projects=(_PROJECT,)),)
