"""The stop report: reason, location, changes, output."""

from __future__ import annotations

from collections.abc import Sequence

from freezeframe.model.answers import ControlState, Ended, StepTrail, StopReport
from freezeframe.model.stops import (
    ExceptionInfo,
    Exit,
    Frame,
    LinkedException,
    Stop,
    StopReason,
    TracebackLine,
    WatchHit,
)
from freezeframe.render.budget import HEADLINE, Capped, Fixed, Listing, Section
from freezeframe.render.formatting import (
    clip,
    file_line,
    number,
    one_line,
    plural,
    relative,
    seconds,
    size,
)
from freezeframe.render.styled_lines import Line, Tone, View

from ._registry import headline, next_step, renders, via, wrapped_in
from .breakpoints import breakpoint_text
from .displays import display_sections
from .frames import Fold, Traits, fold, stack_sections, task_sections, thread_text
from .low_level import instruction_sections
from .one_value import assigned, changes, right_side
from .output import output_sections
from .source import source_sections
from .testing import runner_sections
from .truncated_values import cut_in_scopes
from .values import changed_values, in_frame, unchanged_values

# Ranks: sections with a lower rank shrink last.
_CAUSE, _CHANGED, _SOURCE, _VALUES, _OUTPUT, _REST = 1, 2, 3, 4, 5, 6

_SIGNALS = {
    "SIGABRT": "abort",
    "SIGALRM": "alarm clock",
    "SIGBUS": "bus error",
    "SIGCHLD": "a child changed",
    "SIGCONT": "go on",
    "SIGFPE": "arithmetic error",
    "SIGHUP": "hang-up",
    "SIGILL": "illegal instruction",
    "SIGINT": "interrupt",
    "SIGIO": "input or output possible",
    "SIGPIPE": "broken pipe",
    "SIGPROF": "profiling timer",
    "SIGQUIT": "quit",
    "SIGSEGV": "segmentation fault",
    "SIGSTOP": "stop",
    "SIGSYS": "bad system call",
    "SIGTERM": "termination",
    "SIGTRAP": "trap",
    "SIGTSTP": "stop from the terminal",
    "SIGTTIN": "background read of the terminal",
    "SIGTTOU": "background write to the terminal",
    "SIGUSR1": "user signal 1",
    "SIGUSR2": "user signal 2",
    "SIGVTALRM": "virtual timer",
    "SIGXCPU": "processor time limit",
    "SIGXFSZ": "file size limit",
}
#: DAP's break modes of exceptions, and the text for them
_MODES = {
    "always": "",
    "unhandled": "uncaught",
    "userUnhandled": "unhandled",
    "throw": "thrown",
    "catch": "caught",
    "rethrow": "rethrown",
}


def exit_text(exit: Exit | None) -> str:
    """Return how a program ended: `exited: code 3`, `killed by SIGSEGV (segmentation fault)`."""
    if exit is None:
        return "ended"
    if exit.how == "detached":
        return "detached"
    if exit.how == "lost":
        text = "ended: the debugger was lost"
        return f"{text}: {exit.reason}" if exit.reason else text
    if exit.signal is not None:
        meaning = _SIGNALS.get(exit.signal)
        return f"killed by {exit.signal}" + (f" ({meaning})" if meaning else "")
    text = "killed" if exit.how == "killed" else "exited"
    if exit.code is not None:
        return f"{text}: code {exit.code}"
    return "killed" if exit.how == "killed" else "ended: exit code unknown"


def _exit_sections(exit: Exit | None, prefix: str = "", suffix: str = "") -> list[Section]:
    """Return the line about the exit, and the whole reason below if it was elided."""
    text = f"{prefix}{exit_text(exit)}{suffix}"
    bad = exit is not None and (exit.code not in (0, None) or exit.signal or exit.how == "lost")
    tone = Tone.BAD if bad else Tone.REASON
    if exit is None or not exit.reason:
        return [headline(text, tone)]
    if exit.how == "lost" and size(one_line(text)) <= HEADLINE:
        return [headline(text, tone)]
    short = Exit(exit.code, exit.signal, exit.how)
    return [
        headline(f"{prefix}{exit_text(short)}{suffix}", tone),
        wrapped_in(_CAUSE, f"reason: {exit.reason}", Tone.BAD),
    ]


@renders(StopReport)
def _report(report: StopReport, view: View) -> list[Section]:
    if report.test is not None:
        return [*runner_sections(report.test, view)]
    prefix = f"{clip(report.session, 40)} " if report.several else ""
    stop = report.stop
    sections: list[Section] = []
    next = report.next
    if report.state == "running":
        sections.append(headline(prefix + _running(report)))
        next = next or ("await", "pause")
    elif stop is not None:
        sections.extend(_reason(stop, report, prefix, view))
        sections.extend(_exception(stop, view))
        sections.extend(_watched(stop, view))
    elif report.state == "stopped":
        sections.append(headline(f"{prefix}stopped"))
    else:
        sections.extend(_exit_sections(report.exit, prefix))
    if report.selected is not None:
        selected = report.selected
        where = in_frame(selected, view.cwd, arguments=True)
        text = f"frame {selected.index} is selected: {where}"
        sections.append(Capped(wrapped_in(_CAUSE, text), 240))
    sections.extend(_notes(report, view))
    sections.extend(_trail(report.trail, view))
    if report.returned is not None:
        value = report.returned
        sections.append(
            wrapped_in(_CHANGED, f"returned {right_side(value, view.limit // 3)}", Tone.CHANGED)
        )
    sections.extend(source_sections(report.source, _SOURCE, current_only=view.brief))
    sections.extend(instruction_sections(report.instructions, _SOURCE, view))
    sections.extend(_callers(report.callers, view))
    sections.extend(stack_sections(report.stacks, _SOURCE, view))
    sections.extend(task_sections(report.tasks, _SOURCE, view))
    sections.extend(display_sections(report.displays, _CHANGED, view))
    types = report.show_type
    sections.extend(changed_values(report.scopes, _CHANGED, show_type=types))
    for section in unchanged_values(
        report.scopes, _VALUES, view, names_only=view.repeated, show_type=types
    ):
        sections.append(Capped(section, view.limit // 3))
    # After the exit, the output is the most useful part.
    share = view.limit if report.state == "terminated" else view.limit // 4
    sections.extend(cut_in_scopes(report.scopes, view, _REST, marked=False))
    sections.extend(output_sections(report.output, _OUTPUT, share))
    rank = _CAUSE if report.state == "running" else _REST + 1
    return [*sections, *next_step(next, rank), *via(report.via, _REST)]


def _running(report: StopReport) -> str:
    pid = f" (pid {report.pid})" if report.pid is not None else ""
    if report.waited_s is None:
        return f"running{pid}"
    return f"running: no stop within {seconds(report.waited_s)}{pid}"


def _reason(stop: Stop, report: StopReport, prefix: str, view: View) -> list[Section]:
    """Return the first line; a long description gets its own line."""
    text = f"{prefix}stopped: {_why(stop)}"
    if stop.frame is not None:
        text = f"{text} at {in_frame(stop.frame, view.cwd)}"
    extra: list[Section] = []
    description = stop.description
    if stop.exception is not None or stop.reason is StopReason.OTHER:
        description = None
    if stop.reason is StopReason.SIGNAL and description:
        description = description.partition(": ")[2]
    if description:
        longer = f"{text} ({one_line(description)})"
        if size(longer) <= HEADLINE:
            text = longer
        else:
            extra.append(wrapped_in(_CAUSE, f"reason: {description}"))
    if stop.frame is not None and stop.frame.task and not stop.frame.suspended:
        text = f"{text}, task {clip(stop.frame.task, 40)}"
    if _thread_matters(stop, report.threads):
        longer = f"{text}, {thread_text(stop.thread)}"
        if size(longer) <= HEADLINE:
            text = longer
        else:
            extra.append(Fixed(_CAUSE, (Line(thread_text(stop.thread)),)))
    if not stop.all_threads and report.threads != 1:
        extra.append(Fixed(_REST, (Line("other threads keep running", Tone.QUIET),)))
    return [headline(text), *extra]


def _why(stop: Stop) -> str:
    watches = (stop.watch, *stop.watch.also) if stop.watch is not None else ()
    if stop.reason is StopReason.WATCHPOINT and watches:
        here = [_numbered("breakpoint", stop.breakpoints)] if stop.breakpoints else []
        return ", ".join([_numbered("watchpoint", [hit.id for hit in watches]), *here])
    if stop.reason is StopReason.BREAKPOINT and stop.breakpoints:
        return _numbered("breakpoint", stop.breakpoints)
    if stop.reason is StopReason.EXCEPTION and stop.exception and stop.exception.mode:
        mode = stop.exception.mode
        return f"{_MODES.get(mode, one_line(mode))} exception".lstrip()
    if stop.reason is StopReason.SIGNAL and stop.description:
        name = stop.description.partition(":")[0]
        return f"{name} ({_SIGNALS[name]})" if name in _SIGNALS else f"signal {name}"
    if stop.reason is StopReason.OTHER:
        return clip(stop.description, 60) if stop.description else "no reason given"
    return stop.reason.value


def _numbered(word: str, ids: Sequence[int]) -> str:
    return f"{word}{'s' if len(ids) > 1 else ''} {', '.join(map(str, ids))}"


def _watched(stop: Stop, view: View) -> list[Section]:
    """Return the watchpoint hits: the value before and after, and the line that wrote it."""
    if stop.watch is None:
        return []
    hits = (stop.watch, *stop.watch.also)
    return [wrapped_in(_CAUSE, _watch_text(hit, view), Tone.CHANGED) for hit in hits]


def _watch_text(hit: WatchHit, view: View) -> str:
    text = one_line(hit.expression)
    if hit.ended:
        return f"{text} is out of scope; watchpoint {hit.id} was removed"
    if hit.new is not None:
        text += f" = {clip(hit.new, 120)}"
    if hit.old is not None:
        text += f" (was {clip(hit.old, 120)})"
    if hit.path is not None:
        text += f", written at {file_line(hit.path, hit.line, view.cwd)}"
    return text


def _thread_matters(stop: Stop, threads: int | None) -> bool:
    if threads is not None:
        return threads > 1
    # Unknown number of threads: do not name a first thread that is the main one.
    return "main" not in stop.thread.name.lower() and stop.thread.id != 1


def _exception(stop: Stop, view: View) -> list[Section]:
    error = stop.exception
    if error is None:
        return []
    text = f"{error.type}: {error.message}" if error.message else error.type
    sections: list[Section] = [
        Capped(wrapped_in(_CAUSE, f"exception: {text}", Tone.BAD), view.limit // 2)
    ]
    for line in error.details:
        sections.append(Capped(wrapped_in(_CAUSE + 1, f"  {line}", Tone.BAD), 240))
    for linked in error.links or [LinkedException("cause", each) for each in error.causes]:
        how = "while handling" if linked.relation == "context" else "caused by"
        sections.append(Capped(wrapped_in(_CAUSE + 1, f"{how}: {linked.words}", Tone.BAD), 240))
    return [*sections, *_traceback(error, stop.frame, view)]


def _traits(line: TracebackLine) -> Traits:
    return Traits(line.path, line.function, line.library)


def _traceback(error: ExceptionInfo, at: Frame | None, view: View) -> list[Section]:
    """Return the traceback, innermost last, without the frame that the report shows."""
    entries: list[TracebackLine | Fold | str]
    if error.traceback:
        lines = list(error.traceback)
        last = lines[-1]
        if at is not None and (last.path, last.line) == (at.path, at.line):
            lines.pop()
        entries = [*fold(lines, _traits)]
    else:
        entries = [line for line in error.raw_traceback.splitlines() if line.strip()]
    if not entries:
        return []

    def item(index: int, width: int) -> list[Line]:
        entry = entries[index]
        if isinstance(entry, str):
            return [Line(f"  {clip(entry, width)}", Tone.QUIET)]
        if isinstance(entry, Fold):
            return [Line(f"  … {number(entry.count)} {entry.what}", Tone.QUIET)]
        where = f"  {file_line(entry.path, entry.line, view.cwd)} in {clip(entry.function, 40)}"
        text = entry.text.strip()
        return [Line(f"{where}: {clip(text, width)}" if text else where)]

    def more(shown: int) -> str | None:
        missing = len(entries) - shown
        return f"  … {plural(missing, 'outer frame')} (dbg backtrace)" if missing else None

    listing = Listing(_SOURCE, len(entries), item, more, widths=(100, 60), from_end=True)
    return [Capped(listing, max(200, view.limit // 4))]


def _notes(report: StopReport, view: View) -> list[Section]:
    sections: list[Section] = [
        Capped(wrapped_in(_CAUSE, f"note: {note}", Tone.BAD), 400) for note in report.notes
    ]
    for breakpoint in report.breakpoints:
        text = breakpoint_text(breakpoint, view.cwd, over=report.exit is not None)
        sections.append(Capped(wrapped_in(_SOURCE, text, Tone.BAD), 300))
    return sections


_ON_THE_WAY = (Line("on the way:", Tone.HEAD),)


def _trail(trail: Sequence[StepTrail], view: View) -> list[Section]:
    if not trail:
        return []

    def item(index: int, width: int) -> list[Line]:
        step = trail[index]
        where = relative(step.place, view.cwd)
        if step.line is not None and not where.endswith(f":{step.line}"):
            where = f"{where}:{step.line}"
        where = clip(where, 80)
        if step.function and (index == 0 or trail[index - 1].function != step.function):
            where = f"{where} in {clip(step.function, 40)}"
        parts = [part for value in step.changed for part in changes(value)]
        each = 60 if len(parts) > 1 else width
        text = ", ".join(assigned(value, each, name=path) for path, value in parts)
        return [Line(f"{where}  {clip(text or step.text.strip(), width)}".rstrip(), Tone.QUIET)]

    def more(shown: int) -> str | None:
        missing = len(trail) - shown
        return f"… {plural(missing, 'earlier step')} left out" if missing else None

    listing = Listing(
        _CHANGED, len(trail), item, more, head=_ON_THE_WAY, widths=(120, 60), from_end=True
    )
    return [Capped(listing, view.limit // 2)]


def _callers(callers: Sequence[Frame], view: View) -> list[Section]:
    if not callers:
        return []

    def item(index: int, width: int) -> list[Line]:
        return [Line(f"called from {in_frame(callers[index], view.cwd, arguments=True)}")]

    def more(shown: int) -> str | None:
        missing = len(callers) - shown
        return f"… {plural(missing, 'caller')} (dbg backtrace)" if missing else None

    return [Listing(_SOURCE, len(callers), item, more)]


@renders(Ended)
def _ended(answer: Ended, view: View) -> list[Section]:
    session = clip(answer.session, 60)
    pid = f" (pid {answer.pid})" if answer.pid is not None else ""
    sections: list[Section]
    if answer.how == "detached":
        runs_on = ", which keeps running" if answer.exit is None else ""
        sections = [headline(f"detached from {session}{pid}{runs_on}")]
    elif answer.how == "closed":
        sections = [headline(f"closed the core file of {session}")]
    else:
        verb = "had ended already" if answer.how == "ended already" else "ended"
        exit = answer.exit
        known = exit is not None and (exit.code, exit.signal, exit.reason) != (None, None, None)
        how = f", {exit_text(exit).replace('exited: ', 'exit ')}" if known else ""
        sections = [headline(f"{session} {verb}{pid}{how}")]
    if answer.children:
        names = ", ".join(answer.children)
        sections.append(wrapped_in(1, f"and its children {names}"))
    return [
        *sections,
        *output_sections(answer.output, 2, view.limit // (1 + len(answer.others))),
        *(section for each in answer.others for section in _ended(each, view)),
        *next_step(answer.next),
    ]


@renders(ControlState)
def _control(answer: ControlState, view: View) -> list[Section]:
    session = clip(answer.session, 60)
    if answer.owner is None:
        text = f"nobody has taken over {session}"
    elif answer.own:
        text = f"you have taken over {session}"
    else:
        text = f"{clip(answer.owner, 60)} has taken over {session}"
    return [headline(text), *next_step(answer.next)]
