"""What an agent should know of this debugger: `dbg skill`, and the same over MCP."""

from __future__ import annotations

import re

from freezeframe import __version__
from freezeframe.ops._hosts import SKILL_HEADER
from freezeframe.ops._registry import OPS


def skill_text() -> str:
    """Return the skill for the installed version, with every command that it does not show."""
    from importlib.resources import files

    text = files("freezeframe.frontends").joinpath("skill.md").read_text(encoding="utf-8")
    for name, value in (
        ("{header}", SKILL_HEADER),
        ("{version}", __version__),
        ("{rest}", _rest(text)),
    ):
        text = text.replace(name, value)
    return text


def _rest(text: str) -> str:
    """Return the commands that *text* does not name, those of one family together."""
    families: dict[str, list[str]] = {}
    for spec in OPS:
        family, _, member = spec.name.partition(" ")
        shown = any(re.search(rf"`dbg {name}\b", text) for name in (spec.name, *spec.aliases))
        if not spec.hidden and spec.group != "house" and not shown:
            families.setdefault(family, []).append(member)
    return ", ".join(_family(name, members) for name, members in families.items())


def _family(name: str, members: list[str]) -> str:
    named = "|".join(filter(None, members))
    if not named:
        return name
    return f"{name} [{named}]" if "" in members else f"{name} {named}"
