"""The command reference page, generated from the registry of operations."""

from __future__ import annotations

import re

from freezeframe.ops._registry import GLOBALS, OPS, OpSpec, ParamSpec, Registry

from .help import param_label, param_text, requirement, usage


def reference(ops: Registry = OPS) -> str:
    """Return docs/COMMANDS.md: every command that is not hidden, by group."""
    parts = [
        "# Commands",
        "Generated from the operations' declarations; `make regen` rewrites it.",
        "Options may be anywhere before `--`. Every command takes:",
        _table(GLOBALS),
        "| group | commands |\n| --- | --- |\n"
        + "\n".join(
            f"| [{group}](#{_anchor(group)}) | {_links(specs)} |"
            for group, specs in ops.groups().items()
        ),
    ]
    for group, specs in ops.groups().items():
        parts.append(f"## {group}")
        for spec in specs:
            parts += _section(spec)
    return "\n\n".join(parts) + "\n"


def _section(spec: OpSpec) -> list[str]:
    parts = [f"### {_title(spec)}", f"```\ndbg {usage(spec)}\n```", spec.summary]
    if spec.description:
        parts.append(spec.description)
    shown = [param for param in spec.params if not param.hidden]
    if shown:
        parts.append(_table(shown))
    facts = []
    if spec.aliases:
        facts.append("also: " + ", ".join(f"`{alias}`" for alias in spec.aliases))
    condition = requirement(spec)
    if condition:
        facts.append(condition)
    facts.append(f"effect: {spec.effect.value}")
    parts.append(" · ".join(facts))
    parts.append("```\n" + "\n".join(f"dbg {line}" for line in spec.examples) + "\n```")
    return parts


def _table(params: tuple[ParamSpec, ...] | list[ParamSpec]) -> str:
    rows = [f"| `{_cell(param_label(param))}` | {_cell(param_text(param))} |" for param in params]
    return "\n".join(["| argument | meaning |", "| --- | --- |", *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _links(specs: list[OpSpec]) -> str:
    return ", ".join(f"[{spec.name}](#{_anchor(_title(spec))})" for spec in specs)


def _title(spec: OpSpec) -> str:
    # With `dbg`, so that the command `sessions` and the group of that name get different anchors.
    return f"dbg {spec.name}"


def _anchor(heading: str) -> str:
    """Return the anchor that Markdown readers make of a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
