"""The skill, instructions for agents: `dbg skill`, and the same text over MCP."""

from __future__ import annotations

import re

from freezeframe import __version__
from freezeframe.ops._registry import OPS


def skill_text() -> str:
    """Return the skill for the installed version, with a list of the other commands."""
    from importlib.resources import files

    from freezeframe.ops._agent_hosts import SKILL_HEADER

    text = files("freezeframe.frontends").joinpath("skill.md").read_text(encoding="utf-8")
    for name, value in (
        ("{header}", SKILL_HEADER),
        ("{version}", __version__),
        ("{rest}", _rest(text)),
    ):
        text = text.replace(name, value)
    return text


def _rest(text: str) -> str:
    """Return the commands that *text* does not name, grouped by their first word."""
    families: dict[str, list[str]] = {}
    for spec in OPS:
        family, _, member = spec.name.partition(" ")
        shown = any(re.search(rf"`dbg {name}\b", text) for name in (spec.name, *spec.aliases))
        if not spec.hidden and spec.group != "admin" and not shown:
            families.setdefault(family, []).append(member)
    return ", ".join(_family(name, members) for name, members in families.items())


def _family(name: str, members: list[str]) -> str:
    named = "|".join(filter(None, members))
    if not named:
        return name
    return f"{name} [{named}]" if "" in members else f"{name} {named}"
