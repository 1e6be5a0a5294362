"""The house: the tool at work, what is installed, settings, plain words."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.answers import (
    AdapterInfo,
    AdapterList,
    Check,
    Checkup,
    Setting,
    Settings,
    Text,
    Tool,
)
from freezeframe.render.budget import Capped, Elastic, Fixed, Listing, Section, size
from freezeframe.render.page import Line, Tone, View, row
from freezeframe.render.words import clip, harmless, number, one_line, relative
from freezeframe.render.words import size as size_of_text

from ._table import budget_for, headline, next_step, renders, via, wrapped_in


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
    # What is wrong is read first; what is right only where there is room.
    wrong = [check for check in answer.checks if check.status in ("fail", "warn")]
    right = [check for check in answer.checks if check.status not in ("fail", "warn")]
    return [
        headline(summary, tone),
        *([_checks(wrong, 1, view)] if wrong else []),
        *([_checks(right, 2, view)] if right else []),
    ]


def _checks(checks: Sequence[Check], rank: int, view: View) -> Section:
    def item(index: int, width: int) -> list[Line]:
        check = checks[index]
        tone = _STATUS_TONES.get(check.status, Tone.PLAIN)
        lines = [
            row(
                one_line(check.status),
                clip(check.name, 60),
                clip(check.detail, 2 * width),
                tone=tone,
            )
        ]
        if check.fix:
            lines.append(Line(f"  fix: {clip(check.fix, 2 * width)}", Tone.NEXT))
        return lines

    def more(shown: int) -> str | None:
        missing = len(checks) - shown
        return f"… {missing} more (dbg doctor {view.more})" if missing else None

    return Listing(rank, len(checks), item, more)


@renders(AdapterList)
def _adapters(answer: AdapterList, view: View) -> list[Section]:
    adapters = answer.adapters
    if not adapters:
        return [headline("no debuggers are known")]

    def item(index: int, width: int) -> list[Line]:
        return _adapter(adapters[index], width)

    def more(shown: int) -> str | None:
        missing = len(adapters) - shown
        return f"… {missing} more (dbg adapters {view.more})" if missing else None

    return [Listing(1, len(adapters), item, more)]


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
    if not info.found:
        lines.extend(Line(f"  install: {clip(how, width)}", Tone.NEXT) for how in info.install)
    return lines


@renders(Settings)
def _settings(answer: Settings, view: View) -> list[Section]:
    path = clip(relative(answer.path, view.cwd), 110)
    settings = answer.settings
    there = "" if answer.exists else " (not there: all defaults)"

    def item(index: int, width: int) -> list[Line]:
        return [_setting(settings[index], width)]

    def more(shown: int) -> str | None:
        missing = len(settings) - shown
        return f"… {missing} more (dbg config {view.more})" if missing else None

    sections: list[Section] = [headline(f"{path}{there}", Tone.HEAD)]
    if answer.error is not None:
        words = f"not in use: {answer.error}"
        sections.append(Capped(wrapped_in(1, words, Tone.BAD), 400))
    return [*sections, Listing(1, len(settings), item, more)]


def _setting(setting: Setting, width: int) -> Line:
    text = f"{one_line(setting.key)} = {clip(_toml(setting.value), width)}"
    words = clip(setting.explanation, width) if setting.explanation else ""
    if setting.source != "default":
        origin = f"from {one_line(setting.source)}, default {clip(_toml(setting.default), 40)}"
        words = f"{words} ({origin})" if words else origin
    tone = Tone.PLAIN if setting.source == "default" else Tone.CHANGED
    return row(text, f"# {words}" if words else "", tone=tone)


def _toml(value: object) -> str:
    """Return *value* as one would write it in config.toml."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {_toml(item)}' for key, item in value.items())}}}"
    return "unset" if value is None else str(value)


# --- plain words --------------------------------------------------------------------------------


@renders(Text)
def _text(answer: Text, view: View) -> list[Section]:
    lines = answer.text.removesuffix("\n").split("\n") if answer.text else []
    if answer.whole:
        return [Fixed(0, tuple(Line(line) for line in lines))]
    tail = [*next_step(answer.next), *via(answer.via)]
    if not lines:
        return [headline("(no text)", Tone.QUIET), *tail] if answer.via else tail
    return [Elastic(1, lambda limit: _ends(lines, limit), 120), *tail]


def _ends(texts: Sequence[str], limit: int) -> list[Line]:
    """Return the first and the last lines within *limit*, and how many are missing between."""
    budget = budget_for(sum(size_of_text(text) + 1 for text in texts))
    whole: list[Line] = []
    room = limit
    for text in texts:
        whole.append(Line(harmless(text)))
        room -= whole[-1].size
        if room < 0:
            break
    else:
        return whole

    def words(count: int) -> Line:
        unit = "line" if count == 1 else "lines"
        return Line(f"… {number(count)} {unit} left out (--budget {budget})", Tone.QUIET)

    room = limit - words(len(texts)).size
    first = _as_many(texts, room * 2 // 3)
    last = _as_many(list(reversed(texts[len(first) :])), room - size(first))[::-1]
    missing = len(texts) - len(first) - len(last)
    if missing:
        return [*first, words(missing), *last]
    return [*first, *last]


def _as_many(texts: Sequence[str], room: int) -> list[Line]:
    lines: list[Line] = []
    for text in texts:
        line = Line(harmless(text) if size_of_text(text) <= 200 else clip(text, 200))
        room -= line.size
        if room < 0:
            break
        lines.append(line)
    return lines
