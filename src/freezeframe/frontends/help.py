"""Help: an overview of one screen, a page per group, a page per command.

All pages are generated from the registry. `overview` is written for an agent that reads it once.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from freezeframe.errors import UsageError
from freezeframe.ops._registry import GLOBALS, OPS, Needs, OpSpec, ParamSpec, Registry

WIDTH = 100

#: the most common commands, as typed
COMMON = (
    "test",
    "start",
    "break",
    "continue",
    "next",
    "step",
    "finish",
    "pause",
    "await",
    "print",
    "locals",
    "backtrace",
    "output",
    "batch",
    "stop",
)

_NEEDS = {
    Needs.NOTHING: None,
    Needs.WORKSPACE: None,
    Needs.SESSION: "a session",
    Needs.LIVE: "a program that has not ended",
    Needs.STOPPED: "a stopped program",
}


def overview(ops: Registry = OPS) -> str:
    """Return the first page: at most 40 lines of 100 columns."""
    lines = [
        "dbg runs a program under a debugger, one command per call. What resumes the program waits",
        "for the next stop and shows it: location, source, variables, what changed, output.",
        "The session lives in the background between calls, until `dbg stop`.",
        "",
        "begin   dbg test tests/test_a.py            why a test fails: values, frames",
        "        dbg start app.py -b app.py:42        run to a line; uncaught errors stop too",
        "",
    ]
    common = [(name, *ops.lookup([name])) for name in COMMON if ops.extends([name])]
    lines += _columns(
        [(_usage(spec, name, options=False), spec.summary) for name, spec, _ in common],
        indent="  ",
        left_limit=26,
        one_line=True,
    )
    lines += ["", "all commands (dbg help GROUP, dbg help COMMAND, dbg COMMAND --help)"]
    for group, specs in ops.groups().items():
        lines += _wrapped(", ".join(_compact(specs)), first=f"  {group:<13} ", rest=" " * 16)
    return "\n".join([*lines, _globals_line()]) + "\n"


def page(topic: Sequence[str], ops: Registry = OPS) -> str:
    """Return the page about *topic*: a command, the first word of several commands, or a group.

    Raises UsageError with the nearest command otherwise.
    """
    if not topic:
        return overview(ops)
    found = ops.matches(topic)
    exact = [spec for spec, used in found if used == len(topic)]
    # `run` alone and `run PROGRAM` are two operations: show both.
    both = [spec for spec, used in ops.matches([*topic, "…"]) if used == len(topic)]
    specs = list(dict.fromkeys(spec.name for spec in [*exact, *both]))
    parts = [command_page(ops[name]) for name in specs]
    members = _beginning_with(topic, ops, leave_out=specs)
    if members:
        parts.append(_list("subcommands" if parts else f"dbg {' '.join(topic)} …", members))
    group = ops.groups().get(" ".join(topic))
    if group:
        others = [spec for spec in group if spec.name not in specs]
        if others:
            parts.append(_list(f"group {' '.join(topic)}", others))
    if not parts:
        raise _no_page(topic, ops)
    return "\n".join(parts)


def command_page(spec: OpSpec) -> str:
    """Return the page of one command."""
    lines = [f"dbg {_usage(spec, spec.name)}", "", *_wrapped(spec.summary)]
    for paragraph in spec.description.split("\n\n"):
        if paragraph.strip():
            lines += ["", *_paragraph(paragraph)]
    rows = [(_param_left(param), param_text(param)) for param in _shown(spec)]
    if rows:
        lines += ["", *_columns(rows, indent="  ", left_limit=30)]
    lines.append("")
    if spec.aliases:
        lines.append(f"also: {', '.join(spec.aliases)}")
    condition = requirement(spec)
    if condition:
        lines.append(condition)
    lines += [f"example: dbg {line}" for line in spec.examples]
    return "\n".join([*lines, _globals_line()]) + "\n"


def usage(spec: OpSpec) -> str:
    """Return the usage line of a command, without `dbg`, with all options."""
    return _usage(spec, spec.name, options=True, all_options=True)


def requirement(spec: OpSpec) -> str | None:
    """Return what a command needs, as a line; None if it needs nothing."""
    needs = _NEEDS[spec.needs]
    parts = [f"needs: {needs}"] if needs else []
    if spec.feature:
        parts.append(f"a debugger with {spec.feature}" if parts else f"needs: {spec.feature}")
    return ", ".join(parts) or None


def param_text(param: ParamSpec) -> str:
    """Return the help of an argument, with its choices and default if they add information."""
    # The help of a flag that is on by default says what it does; its `--no-` form turns it off.
    text = f"do not {param.help}" if param.is_flag and param.default is True else param.help
    if param.type.choices and param.meta != "|".join(param.type.choices):
        text += f": {', '.join(param.type.choices)}"
    if param.many and not (param.positional or param.rest):
        text += " (repeatable)"
    default = param.default
    if default not in (None, "", ()) and default != [] and not isinstance(default, bool):
        text += f" (default {getattr(default, 'value', default)})"
    return text


def param_label(param: ParamSpec) -> str:
    """Return an argument as shown in the left column: `-c, --condition EXPR`."""
    if param.rest:
        return f"-- {param.meta}…"
    if param.positional:
        return param.meta + ("…" if param.many else "")
    long = param.long
    if param.is_flag and param.type.optional:
        long = f"--[no-]{param.cli_name}"
    meta = param.meta if param.alone is None else f"[{param.meta}]"
    value = "" if param.is_flag else f" {meta}"
    return f"{param.short}, {long}{value}" if param.short else f"{long}{value}"


def _param_left(param: ParamSpec) -> str:
    named = not (param.positional or param.rest or param.short)
    return f"    {param_label(param)}" if named else param_label(param)


def _shown(spec: OpSpec) -> list[ParamSpec]:
    """Return the arguments to list: positionals, program arguments, then options."""
    shown = [param for param in spec.params if not param.hidden]
    return sorted(shown, key=lambda param: 0 if param.positional else 1 if param.rest else 2)


def _usage(spec: OpSpec, name: str, *, options: bool = True, all_options: bool = False) -> str:
    parts = [name]
    if all_options:
        for param in spec.params:
            if param.hidden or param.positional or param.rest:
                continue
            flag = param.short or param.long
            parts.append(f"[{flag}]" if param.is_flag else f"[{flag} {param.meta}]")
    for param in spec.positionals:
        if not param.hidden:
            meta = param_label(param)
            parts.append(meta if param.required else f"[{meta}]")
    parts.extend(f"[{param.meta}]" for param in spec.params if param.bare)
    if options and not all_options and any(not (p.positional or p.rest) for p in _shown(spec)):
        parts.append("[options]")
    if spec.rest is not None and not spec.rest.hidden:
        parts.append(f"[-- {spec.rest.meta}…]")
    return " ".join(parts)


def _compact(specs: Iterable[OpSpec]) -> list[str]:
    """Return the names, grouped by their first word: `watch list|remove`."""
    names: dict[str, list[str]] = {}
    for spec in specs:
        first, _, second = spec.name.partition(" ")
        names.setdefault(first, []).append(second)
    found = []
    for first, seconds in names.items():
        others = "|".join(second for second in seconds if second)
        alone = "" in seconds
        found.append(f"{first} [{others}]" if alone and others else f"{first} {others}".strip())
    return found


def _beginning_with(topic: Sequence[str], ops: Registry, leave_out: list[str]) -> list[OpSpec]:
    begin = " ".join(topic) + " "
    return [
        spec
        for spec in ops
        if not spec.hidden and spec.name.startswith(begin) and spec.name not in leave_out
    ]


def _list(title: str, specs: Sequence[OpSpec]) -> str:
    rows = [(_usage(spec, spec.name, options=False), spec.summary) for spec in specs]
    return "\n".join([title, *_columns(rows, indent="  ", left_limit=34)]) + "\n"


def _no_page(topic: Sequence[str], ops: Registry) -> UsageError:
    typed = " ".join(topic)
    suggestion = ops.suggest(topic)
    return UsageError(
        f"there is no command or group `{typed}`.",
        next=f"dbg help {ops.lookup(suggestion.split())[0].name}" if suggestion else "dbg help",
    )


def _globals_line() -> str:
    return "every command: " + " · ".join(
        param_label(param).replace(", ", "/") for param in GLOBALS if not param.hidden
    )


# --- layout -------------------------------------------------------------------------------------


def _columns(
    rows: Sequence[tuple[str, str]], *, indent: str, left_limit: int, one_line: bool = False
) -> list[str]:
    """Return two aligned columns; a left side beyond the limit gets its own line."""
    width = min(max((len(left) for left, _ in rows), default=0), left_limit)
    lines = []
    for left, right in rows:
        first = f"{indent}{left:<{width}}  "
        if one_line:
            lines.append(first + _shortened(right, WIDTH - len(first)))
            continue
        if len(left) > width:
            lines.append(f"{indent}{left}")
            first = " " * (len(indent) + width + 2)
        lines += _wrapped(right, first=first, rest=" " * (len(indent) + width + 2))
    return lines


def _shortened(text: str, width: int) -> str:
    """Return as much of *text* as fits, cut after a clause if possible."""
    if len(text) <= width:
        return text
    ends = [
        at for mark in (". ", "; ", ": ", ", ") if 0 < (at := text.rfind(mark, 0, width)) < width
    ]
    return text[: max(ends)] + "." if ends else textwrap.shorten(text, width, placeholder="…")


def _wrapped(text: str, *, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [first.rstrip()]


def _paragraph(text: str) -> list[str]:
    """Wrap a paragraph of a docstring, but not lists and examples (indented or `-`)."""
    lines = text.strip("\n").split("\n")
    if any(line.startswith((" ", "- ")) for line in lines):
        return [line.rstrip() for line in lines]
    return _wrapped(" ".join(line.strip() for line in lines))
