"""What the runners of JavaScript share: package.json, titles of tests, files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from . import titles
from .runner import Evidence, Project, Strength

#: `test("adds", …)`, `it.only('adds', …)`, `describe("cart", …)`
TITLE = re.compile(
    r"""(?<![\w.$])(?:test|it|(?P<group>describe|suite|context))(?:\.\w+)*(?:\([^()]*\))?\(\s*(?P<quote>["'`])(?P<title>(?:(?!(?P=quote)).|\\.)*)(?P=quote)"""
)
FILES = (r".*[.-_](?:test|spec)\.[cm]?[jt]sx?", r"test.*\.[cm]?[jt]sx?")
#: names of the files that JavaScript runners can run
SOURCES = r".*\.[cm]?[jt]sx?"


def package(project: Project) -> dict[str, Any]:
    try:
        found = json.loads(project.text("package.json"))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def script(project: Project) -> str:
    scripts = package(project).get("scripts")
    return str(scripts.get("test", "")) if isinstance(scripts, dict) else ""


def depends(project: Project, name: str) -> bool:
    found = package(project)
    kinds = ("dependencies", "devDependencies", "peerDependencies")
    return any(name in (found.get(kind) or {}) for kind in kinds)


def recognise(project: Project, name: str, configuration: str = "") -> Evidence | None:
    """Return why a project uses a runner that is a package of npm."""
    if re.search(rf"(?<![\w@/-]){name}(?![\w-])", script(project)):
        return Evidence(f"package.json: {script(project)[:40]}", Strength.CONFIGURATION)
    found = project.exists(configuration) if configuration else None
    if found is not None:
        return Evidence(found, Strength.CONFIGURATION)
    if depends(project, name):
        return Evidence(f"package.json has {name}", Strength.FILES)
    return None


def selected(project: Project) -> titles.Selected:
    return titles.selected(project, TITLE, FILES)


def name_at(function: str, text: str, line: int) -> str | None:
    return " > ".join(titles.path_at(text, line, TITLE)) or None


def names(project: Project) -> Iterator[str]:
    for path in project.files(*FILES):
        yield from (each.text for each in titles.titles(project.text(path), TITLE))


#: code of runners and of assertion libraries
FRAMEWORK = re.compile(
    r"node:(?:internal/)?(?:assert|test)|/node_modules/(?:@?jest|expect|@?vitest|chai|mocha|should)"
)
