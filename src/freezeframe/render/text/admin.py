"""Administration: the debugger in use, checks, debuggers, settings, plain text."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.answers import Text, Tool
from freezeframe.model.setup_answers import (
    AdapterInfo,
    AdapterList,
    Check,
    Checkup,
    FileChange,
    FileChanges,
    Setting,
    Settings,
    Setup,
    Setups,
)
from freezeframe.render.budget import Capped, Fixed, Listing, Resizable, Section, size
from freezeframe.render.formatting import clip, escape_control, number, one_line, relative
from freezeframe.render.formatting import size as size_of_text
from freezeframe.render.styled_lines import Line, Tone, View, row

from ._registry import budget_for, headline, next_step, renders, via, wrapped_in


@renders(Tool)
def _tool(answer: Tool, view: View) -> list[Section]:
    version = f" {answer.version}" if answer.version else ""
    sections: list[Section] = [headline(f"{answer.name}{version} ({answer.kind})")]
    rows = (
        (1, "why", answer.reason),
        (2, "interpreter", answer.interpreter or ""),
        (3, "command", " ".join(answer.command)),
        (2, "can", ", ".join(answer.can)),
        (2, "cannot", ", ".join(answer.cannot)),
    )
    for rank, name, text in rows:
        if text:
            sections.append(wrapped_in(rank, f"{name}: {text}"))
    return sections


_STATUS_TONES = {"ok": Tone.GOOD, "warn": Tone.CHANGED, "fail": Tone.BAD, "skip": Tone.QUIET}


@renders(Checkup)
def _checkup(answer: Checkup, view: View) -> list[Section]:
    if not answer.checks:
        return [headline("nothing was checked")]
    counts = dict.fromkeys(("fail", "warn", "ok", "skip"), 0)
    for check in answer.checks:
        counts[check.status] = counts.get(check.status, 0) + 1
    summary = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    tone = Tone.BAD if counts["fail"] else Tone.GOOD
    # Problems come first; passed checks are shown only if there is room.
    wrong = [check for check in answer.checks if check.status in ("fail", "warn") or check.mended]
    absent = [each for each in answer.checks if each.status == "skip" and each.debugger]
    if len(absent) == 1 == len(answer.checks):
        absent = []
    right = [check for check in answer.checks if check not in wrong and check not in absent]
    return [
        headline(summary, tone),
        *([_checks(wrong, 1, view)] if wrong else []),
        *([_checks(right, 2, view)] if right else []),
        *([_absent(absent)] if absent else []),
        *next_step(answer.next),
    ]


def _absent(checks: Sequence[Check]) -> Section:
    """Return one line for debuggers that are not installed, which is not a problem."""
    names = ", ".join(clip(check.name, 40) for check in checks)
    return wrapped_in(3, f"not installed: {names} (dbg setup NAME)", Tone.QUIET)


def _checks(checks: Sequence[Check], rank: int, view: View) -> Section:
    def item(index: int, width: int) -> list[Line]:
        return _check(checks[index], width)

    def more(shown: int) -> str | None:
        missing = len(checks) - shown
        return f"… {missing} more (dbg doctor {view.more})" if missing else None

    return Listing(rank, len(checks), item, more)


def _check(check: Check, width: int) -> list[Line]:
    tone = _STATUS_TONES.get(check.status, Tone.PLAIN)
    cells = one_line(check.status), clip(check.name, 60), clip(check.detail, 2 * width)
    lines = [row(*cells, tone=tone)]
    if check.mended:
        lines.append(Line(f"  fixed: {clip(check.mended, 2 * width)}", Tone.GOOD))
    if check.fix:
        lines.append(Line(f"  fix: {clip(check.fix, 2 * width)}", Tone.NEXT))
    return lines


@renders(AdapterList)
def _adapters(answer: AdapterList, view: View) -> list[Section]:
    if not answer.adapters:
        return [headline("no debuggers are known")]
    if answer.tried is not None:
        return [*_adapter_in_full(answer.adapters[0], answer.tried), *next_step(answer.next)]
    # Installed debuggers come first.
    adapters = sorted(answer.adapters, key=lambda info: not info.found)

    def item(index: int, width: int) -> list[Line]:
        return _adapter(adapters[index], width)

    def more(shown: int) -> str | None:
        missing = len(adapters) - shown
        return f"… {missing} more (dbg adapters {view.more})" if missing else None

    return [Listing(1, len(adapters), item, more), *next_step(answer.next)]


def _adapter(info: AdapterInfo, width: int) -> list[Line]:
    state = (info.version or "found") if info.found else "not found"
    lines = [
        row(
            clip(info.name, 40),
            clip(state, 40),
            clip(", ".join(info.languages), 80) if info.languages else "",
            one_line(info.kind),
            clip(info.path, width) if info.found and info.path else "",
            "yours" if info.yours else "" if info.tested else "untested",
            clip(info.note, width) if info.note else "",
            tone=Tone.PLAIN if info.found else Tone.QUIET,
        )
    ]
    if info.can:
        lines.append(Line(f"  can: {clip(_abilities(info), 2 * width)}", Tone.QUIET))
    return lines


def _abilities(info: AdapterInfo) -> str:
    """Return the capabilities or the missing ones, whichever text is shorter."""
    if len(info.cannot) < len(info.can):
        return f"all but {', '.join(info.cannot)}" if info.cannot else "everything"
    return ", ".join(info.can)


def _adapter_in_full(info: AdapterInfo, tried: Check) -> list[Section]:
    version = f" {info.version}" if info.version else ""
    origin = ", yours" if info.yours else "" if info.tested else ", untested"
    rows = (
        (1, "languages", ", ".join(info.languages)),
        (1, "path", info.path or ""),
        (1, "missing", info.note or ""),
        (3, "takes", ", ".join(info.claims)),
        (2, "can", ", ".join(info.can)),
        (2, "cannot", ", ".join(info.cannot)),
        *((1, "install", command) for command in info.install),
    )
    sections: list[Section] = [headline(f"{info.name}{version} ({info.kind}{origin})")]
    sections += [wrapped_in(rank, f"{name}: {text}") for rank, name, text in rows if text]
    if info.found:
        tone = _STATUS_TONES.get(tried.status, Tone.PLAIN)
        sections.append(wrapped_in(1, f"tried: {tried.status}, {tried.detail}", tone))
        if tried.fix:
            sections.append(wrapped_in(1, f"  fix: {tried.fix}", Tone.NEXT))
    return sections


@renders(Setups)
def _setups(answer: Setups, view: View) -> list[Section]:
    setups = answer.setups
    if not setups:
        return [headline("everything is installed", Tone.GOOD), *next_step(answer.next)]
    alone = len(setups) == 1

    def item(index: int, width: int) -> list[Line]:
        return _setup(setups[index], width, whole=alone)

    def more(shown: int) -> str | None:
        missing = len(setups) - shown
        return f"… {missing} more (dbg setup {view.more})" if missing else None

    return [Listing(1, len(setups), item, more), *next_step(answer.next)]


_STEP_TONES = {"ran": Tone.GOOD, "failed": Tone.BAD, "ready": Tone.NEXT, "blocked": Tone.QUIET}


def _setup(setup: Setup, width: int, *, whole: bool) -> list[Line]:
    state = "here" if setup.here else "not here"
    cells = clip(setup.name, 40), state, clip(setup.purpose, 80), clip(setup.detail, 2 * width)
    lines = [row(*cells, tone=Tone.GOOD if setup.here else Tone.PLAIN)]
    for step in setup.steps if whole else setup.steps[:1]:
        why = f"  # {clip(step.why, width)}" if step.why else ""
        summary = f"  {one_line(step.state)}: {clip(step.command, 3 * width)}{why}"
        lines.append(Line(summary, _STEP_TONES.get(step.state, Tone.PLAIN)))
        if step.state == "failed":
            last_lines = step.output.splitlines()[-8:]
            lines += [Line(f"    {clip(text, width)}", Tone.STDERR) for text in last_lines]
    if setup.tried is not None and whole:
        lines += [Line(f"  {line.text}", line.tone) for line in _check(setup.tried, width)]
    return lines


_CHANGE_TONES = {"written": Tone.GOOD, "would change": Tone.CHANGED}


@renders(FileChanges)
def _file_changes(answer: FileChanges, view: View) -> list[Section]:
    changes = answer.changes

    def item(index: int, width: int) -> list[Line]:
        return _file_change(changes[index], width)

    def more(shown: int) -> str | None:
        missing = len(changes) - shown
        return f"… {missing} more ({view.more})" if missing else None

    note = [wrapped_in(2, answer.note)] if answer.note else []
    return [Listing(1, len(changes), item, more), *note, *next_step(answer.next)]


def _file_change(change: FileChange, width: int) -> list[Line]:
    tone = _CHANGE_TONES.get(change.state, Tone.PLAIN)
    summary = f"{one_line(change.state)}: {clip(change.path, width)} ({clip(change.what, 80)})"
    lines = [Line(summary, tone)]
    for text in change.diff.splitlines():
        tone = Tone.GOOD if text.startswith("+") else Tone.BAD
        lines.append(Line(f"  {text[:1]} {clip(text[1:], width)}", tone))
    return lines


@renders(Settings)
def _settings(answer: Settings, view: View) -> list[Section]:
    path = clip(relative(answer.path, view.cwd), 110)
    settings = answer.settings
    there = "" if answer.exists else " (missing: all defaults)"

    def item(index: int, width: int) -> list[Line]:
        return [_setting(settings[index], width)]

    def more(shown: int) -> str | None:
        missing = len(settings) - shown
        return f"… {missing} more (dbg config {view.more})" if missing else None

    sections: list[Section] = [headline(f"{path}{there}", Tone.HEAD)]
    if answer.error is not None:
        summary = f"not in use: {answer.error}"
        sections.append(Capped(wrapped_in(1, summary, Tone.BAD), 400))
    return [*sections, Listing(1, len(settings), item, more)]


def _setting(setting: Setting, width: int) -> Line:
    text = f"{one_line(setting.key)} = {clip(_toml(setting.value), width)}"
    summary = clip(setting.explanation, width) if setting.explanation else ""
    if setting.source != "default":
        origin = f"from {one_line(setting.source)}, default {clip(_toml(setting.default), 40)}"
        summary = f"{summary} ({origin})" if summary else origin
    tone = Tone.PLAIN if setting.source == "default" else Tone.CHANGED
    return row(text, f"# {summary}" if summary else "", tone=tone)


def _toml(value: object) -> str:
    """Return *value* as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_toml(item)}' for key, item in value.items())}}}"
    return "unset" if value is None else str(value)


# --- plain text ---------------------------------------------------------------------------------


@renders(Text)
def _text(answer: Text, view: View) -> list[Section]:
    lines = answer.text.removesuffix("\n").split("\n") if answer.text else []
    if answer.whole:
        return [Fixed(0, tuple(Line(line) for line in lines))]
    tail = [*next_step(answer.next), *via(answer.via)]
    if not lines:
        return [headline("(no text)", Tone.QUIET), *tail] if answer.via else tail
    return [Resizable(1, lambda limit: _ends(lines, limit), 120), *tail]


def _ends(texts: Sequence[str], limit: int) -> list[Line]:
    """Return the first and last lines within *limit*, and how many are left out between."""
    budget = budget_for(sum(size_of_text(text) + 1 for text in texts))
    whole: list[Line] = []
    room = limit
    for text in texts:
        whole.append(Line(escape_control(text)))
        room -= whole[-1].size
        if room < 0:
            break
    else:
        return whole

    def summary(count: int) -> Line:
        unit = "line" if count == 1 else "lines"
        return Line(f"… {number(count)} {unit} left out (--budget {budget})", Tone.QUIET)

    room = limit - summary(len(texts)).size
    first = _as_many(texts, room * 2 // 3)
    last = _as_many(list(reversed(texts[len(first) :])), room - size(first))[::-1]
    missing = len(texts) - len(first) - len(last)
    if missing:
        return [*first, summary(missing), *last]
    return [*first, *last]


def _as_many(texts: Sequence[str], room: int) -> list[Line]:
    lines: list[Line] = []
    for text in texts:
        line = Line(escape_control(text) if size_of_text(text) <= 200 else clip(text, 200))
        room -= line.size
        if room < 0:
            break
        lines.append(line)
    return lines
