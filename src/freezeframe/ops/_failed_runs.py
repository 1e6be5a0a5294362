"""Find the line of the user's code that the output of a failed run names."""

from __future__ import annotations

import os
import re
import shlex

from freezeframe.backends.backend import Launch
from freezeframe.model.stops import Exit
from freezeframe.session.session import Session

from ._context import Context
from ._suggestions import quoted

#: Characters at the end of the output that are searched, and the limit of one line.
_SEARCHED = 30_000
_LONGEST_LINE = 1000
_STREAMS = frozenset({"stdout", "stderr"})
#: How test runners and runtimes name a location: `tests/test_cart.py:12: AssertionError`,
#: `File "app.py", line 3`, `at total (file:///shop/cart.js:7:3)`, `cart_test.go:9: got 3`.
_LOCATION = re.compile(
    r'File "(?P<quoted>[^"]+)", line (?P<number>\d{1,7})'
    r"|(?:file://)?(?P<path>[\w./@+~-]+\.[A-Za-z]\w*):(?P<line>\d{1,7})\b"
)
#: How node:test names the line where a test or suite is defined, after the line that failed.
_DEFINITION = re.compile(r"\s*(?:location: '|test at )")
_ESCAPE = re.compile(r"\x1b\[[\d;]*m")
#: what LeakSanitizer writes before it ends the program with a failure of its own
_NO_LEAK_CHECK = "LeakSanitizer does not work under ptrace"
_OTHERS = ("site-packages", "node_modules", "dist-packages", ".cargo", "vendor")


#: short options of `start` that a command gets where they follow its name, and those with a value
_SHORT_OPTIONS = {"-t": True, "-e": False}
#: how a program says that it does not know an option
_UNKNOWN = re.compile(
    r"(?:unrecognized|unrecognised|unknown|no such|invalid|illegal|bad|not recognized)\b.*"
    r"(?<![\w-])['\"`-]{0,3}(?P<letter>[a-z])\b",
    re.IGNORECASE,
)


def after_failure(ctx: Context, session: Session, exit: Exit | None) -> tuple[str, ...]:
    """Return the next step after a program that exited with a failure code.

    A breakpoint at the last location in the user's code that its output names, if any: the line of
    a failed test, or of an exception that a runner has caught.
    """
    target = session.root.target
    if exit is None or exit.how != "ended" or not exit.code or not isinstance(target, Launch):
        return ()
    text = _last_output(session)
    if _NO_LEAK_CHECK in text:
        program = quoted(target.written or target.program)
        args = f" -- {shlex.join(target.args)}" if target.args else ""
        return (f"start {program} --env LSAN_OPTIONS=detect_leaks=0{args}",)
    moved = _moved_option(target, text)
    if moved is not None:
        return (moved,)
    known = {(each.location.file, each.location.line) for each in session.breakpoints}
    lines = [line for line in reversed(text.splitlines()) if "Warning" not in line]
    # False sorts first: definitions are the last resort.
    for line in sorted(lines, key=lambda line: _DEFINITION.match(line) is not None):
        for match in reversed([*_LOCATION.finditer(line[:_LONGEST_LINE])]):
            path = _own_file(match["quoted"] or match["path"], target.cwd)
            number = int(match["number"] or match["line"])
            if path is None or not session.sources.line(path, number):
                continue
            if (path, number) in known:
                return ("restart",)
            shown = os.path.relpath(path, ctx.caller.cwd)
            shown = path if shown.startswith(os.pardir) else shown
            return (f"break {quoted(f'{shown}:{number}')}",)
    moved = _moved_option(target, None)
    return (moved,) if moved is not None else ()


def _moved_option(target: Launch, text: str | None) -> str | None:
    """Return the same command with an option before the program, where *text* refuses the option.

    Without a text: where its value is a number, as of `-t`.
    """
    named = {f"-{match['letter']}" for match in _UNKNOWN.finditer(text or "")}
    for at, arg in enumerate(target.args):
        if arg not in _SHORT_OPTIONS:
            continue
        end = at + 1 + _SHORT_OPTIONS[arg]
        has_number = _SHORT_OPTIONS[arg] and "".join(target.args[at + 1 : end]).isdecimal()
        if arg not in named and not (text is None and has_number):
            continue
        command = (target.written or target.program, *target.args[:at], *target.args[end:])
        module = "-m " if target.module else ""
        return f"start {shlex.join(target.args[at:end])} {module}{shlex.join(command)}"
    return None


def disturbed(session: Session, exit: Exit | None) -> tuple[str, ...]:
    """Return a note if the program failed because it ran under a debugger."""
    if exit is None or not exit.code or _NO_LEAK_CHECK not in _last_output(session):
        return ()
    return ("the exit code is LeakSanitizer's, which does not work under a debugger",)


def _last_output(session: Session) -> str:
    found = session.root.output.read(streams=_STREAMS, limit=_SEARCHED)
    return _ESCAPE.sub("", "".join(chunk.text for chunk in found.chunks))


def _own_file(named: str, cwd: str) -> str | None:
    """Return the absolute path of a file below *cwd* that is not a library's; None otherwise."""
    path = os.path.normpath(os.path.join(cwd, named))
    inside = os.path.relpath(path, cwd).split(os.sep)
    if inside[0] == os.pardir or any(part in _OTHERS for part in inside):
        return None
    return path if os.path.isfile(path) else None
