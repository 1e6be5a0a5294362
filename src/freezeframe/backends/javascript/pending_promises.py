"""Promises of a Node program that were never resolved: where each is awaited, and was made.

`pending_promises_agent.cjs` records them in a program that was started to be examined.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import unquote

from freezeframe.model.calls import CallSite
from freezeframe.model.waits import Wait, WaitFacts

AGENT = Path(__file__).with_name("pending_promises_agent.cjs")
#: the expression for what the agent has recorded, as JSON
QUERY = "globalThis[Symbol.for('freezeframe.pending')]?.() ?? ''"
_FRAME = re.compile(
    r"\s+at (?:async )?(?:(?P<function>[^()]+?) \()?(?:file://)?(?P<path>/[^():]+):(?P<line>\d+):\d+\)?"
)
_LIBRARIES = ("/node_modules/", AGENT.name)
_AWAIT = re.compile(r"\b(?:await|yield)\b")
_MADE = re.compile(r"new Promise\b|Promise\.withResolvers")


def options(env: Mapping[str, str]) -> str:
    """Return the assignment that loads the agent into every Node process of a program."""
    return f'NODE_OPTIONS={env.get("NODE_OPTIONS", "")} --require "{AGENT}"'.replace("= ", "=")


def read(text: str, line_of: Callable[[str, int], str]) -> WaitFacts | None:
    """Return the waits: async functions that await, each at its line; None if nothing is known."""
    try:
        answer = json.loads(text)
        stacks = [str(each) for each in answer["stacks"]]
        resources = sorted(set(map(str, answer["resources"])))
    except (ValueError, TypeError, KeyError):
        return None
    waits: dict[tuple[str, int], Wait] = {}
    made: list[CallSite] = []
    for stack in stacks:
        site = _site(stack, line_of)
        if site is None:
            continue
        if _MADE.search(site.text):
            made.append(site)
        elif _AWAIT.search(site.text):
            name = f"async {site.function}"
            key = site.path, site.line
            waits[key] = Wait(f"{key}", name, "promise", "a promise", at=site)
    for site in dict.fromkeys(made):
        key = site.path, site.line
        name = f"the promise of {site.function}"
        waits[key] = Wait(f"{key}", name, "resolve", "its resolve or reject", at=site)
    kept = ", ".join(resources) or "nothing"
    loop = Wait("loop", "the event loop", "loop", "events", detail=f"open: {kept}")
    return WaitFacts((*waits.values(), loop))


def _site(stack: str, line_of: Callable[[str, int], str]) -> CallSite | None:
    """Return the innermost frame of the user's code."""
    for line in stack.splitlines()[1:]:
        frame = _FRAME.match(line)
        if frame is None or any(each in frame["path"] for each in _LIBRARIES):
            continue
        path, number = unquote(frame["path"]), int(frame["line"])
        function = (frame["function"] or "<anonymous>").removeprefix("async ")
        return CallSite(path, number, function, line_of(path, number).strip())
    return None
