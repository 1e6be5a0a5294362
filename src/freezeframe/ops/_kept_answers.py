"""The latest answer of each question in a workspace, kept so that `export` can show it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any, Literal

from freezeframe import files, paths
from freezeframe.errors import NotFound
from freezeframe.history.redaction import Secrets

from ._context import Context

Question = Literal["diff", "why", "hunt"]
_LARGEST = 30_000_000


def page_step(question: Question) -> str:
    """Return the next step that shows the latest answer of a question in a browser."""
    return f"export --answer {question} {question}.html"


async def keep_answer(
    ctx: Context, question: Question, facts: Mapping[str, object], run: str | None = None
) -> tuple[str, ...]:
    """Keep an answer until the next one; return the step that shows it as a page.

    *run* is the name of the recorded run that the answer is about.
    """
    from freezeframe.history import answer_pages

    if not ctx.config.history.record:
        return ()
    secrets = Secrets(ctx.config.history.exclude)
    data = {
        "at": time.time(),
        "command": secrets.redact(ctx.typed),
        "root": ctx.workspace.root,
        "run": run,
        **answer_pages.plain(facts, secrets),
    }
    try:
        directory = _directory()
        os.makedirs(directory, mode=0o700, exist_ok=True)
        path = os.path.join(directory, _name(ctx, question))
        with open(f"{path}.new", "w", encoding="utf-8", errors="replace") as file:
            file.write(answer_pages.dumped(data))
        os.replace(f"{path}.new", path)
    except OSError:
        return ()  # the answer itself matters more than its page
    return (page_step(question),)


def kept_answer(ctx: Context, question: Question) -> dict[str, Any]:
    """Return the latest answer of a question in this workspace. Raises NotFound."""
    with contextlib.suppress(OSError, ValueError):
        path = os.path.join(_directory(), _name(ctx, question))
        found = json.loads(files.read_text(path, _LARGEST))
        if isinstance(found, dict):
            return found
    raise NotFound(
        f"there is no answer of {question} in this workspace yet.", next=f"dbg help {question}"
    )


def _directory() -> str:
    return os.path.join(paths.secure(paths.state_dir()), "answers")


def _name(ctx: Context, question: Question) -> str:
    root = hashlib.sha256(os.fsencode(ctx.workspace.root)).hexdigest()[:24]
    return f"{root}-{question}.json"
