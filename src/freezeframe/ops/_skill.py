"""The skill, instructions for agents: `dbg skill`, the file of `skill install`, and over MCP."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping

from freezeframe import __version__, files

from ._registry import OPS

#: the skill's name, which is the name of its directory, too
NAME = "freezeframe"
#: how commands are written here
COMMAND = "dbg"
#: the beginning of a script that holds the name of the package
_SCRIPT_BYTES = 4096

#: what an agent reads before it decides to load the skill
SKILL_FIELDS: Mapping[str, object] = {
    "name": NAME,
    "description": (
        "Debug a running program with `dbg` instead of adding prints. Use it when a test fails "
        "for a reason the source does not show, a value is wrong, a program crashes or hangs, or "
        "a child process or thread misbehaves."
    ),
    "allowed-tools": f"Bash({COMMAND}:*) Bash({NAME}:*)",
    "metadata": {"version": __version__},
}


def skill_text(command: str = COMMAND) -> str:
    """Return the skill for the installed version, with a list of the other commands.

    *command* is the name by which the agent's shell finds us.
    """
    from importlib.resources import files as package_files

    text = package_files("freezeframe.ops").joinpath("skill.md").read_text(encoding="utf-8")
    text = text.replace("{version}", __version__).replace("{rest}", _rest(text))
    if command != COMMAND:
        text = re.sub(
            rf"(?<=`){COMMAND} |(?<=# ){COMMAND} |(?<=\$ ){COMMAND} ", f"{command} ", text
        )
    return header() + text


def header() -> str:
    """Return the skill's fields as YAML front matter."""
    lines = []
    for name, value in SKILL_FIELDS.items():
        if isinstance(value, Mapping):
            lines += [f"{name}:", *(f'  {key}: "{each}"' for key, each in value.items())]
        else:
            lines.append(f"{name}: {value}")
    return "\n".join(("---", *lines, "---", ""))


def command_on_path(env: Mapping[str, str]) -> str:
    """Return `dbg`, or `freezeframe` where another program called `dbg` is first on PATH."""
    found = shutil.which(COMMAND, path=env.get("PATH", os.defpath))
    if found is None or os.path.dirname(found) == os.path.dirname(sys.executable):
        return COMMAND
    try:
        begin = files.read_head(found, _SCRIPT_BYTES)
    except OSError:
        return COMMAND
    return COMMAND if NAME.encode() in begin else NAME


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
