"""The files of the page: one shell, its style and its scripts, exported or served.

A script may use what the scripts before it declare. A new view is a file of its own: it adds a
function to `VIEWS` under the `kind` of its data, and a name to `SCRIPTS` or to the views of a page.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

STYLE = "page.css"
SCRIPTS = (
    "dom.js",
    "run.js",
    "timeline.js",
    "stops.js",
    "source.js",
    "values.js",
    "output.js",
    "navigation.js",
    "main.js",
)
#: of the live page only; they come before the last script
LIVE_SCRIPTS = ("live.js", "values_live.js", "transcript.js", "controls.js")
LIVE_FILES = (STYLE, *SCRIPTS, *LIVE_SCRIPTS)


def read(name: str) -> str:
    """Return the text of a file of the page."""
    return files("freezeframe.history").joinpath("page", name).read_text(encoding="utf-8")


def shell(head: str, scripts: str) -> str:
    """Return the document with these elements in its head and at its end."""
    return read("shell.html").replace("<!--HEAD-->", head).replace("<!--SCRIPTS-->", scripts)


def inlined(data: str, views: Sequence[str] = ()) -> str:
    """Return the page as one file that holds *data*, which is JSON.

    *views* are further scripts and styles. Nothing but what is in this file runs: the policy names
    each script by its hash.
    """
    style = "".join(read(name) for name in (STYLE, *views) if name.endswith(".css"))
    *before, last = SCRIPTS
    names = [*before, *(name for name in views if name.endswith(".js")), last]
    scripts = [f"\n{read(name)}" for name in names]
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; "
        f"script-src {' '.join(repr(_hash(each)) for each in scripts)}"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>'
    # Only these characters could end the element or begin a comment in it.
    data = data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    held = f'<script type="application/json" id="data">{data}</script>'
    elements = [held, *(f"<script>{each}</script>" for each in scripts)]
    return shell(head, "\n".join(elements))


def served() -> str:
    """Return the live page, which loads its style and scripts from beside it."""
    names = (*SCRIPTS[:-1], *LIVE_SCRIPTS, SCRIPTS[-1])
    scripts = "\n".join(f'<script src="{name}"></script>' for name in names)
    return shell(f'<link rel="stylesheet" href="{STYLE}">', scripts)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
