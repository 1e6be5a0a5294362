"""Reports of AddressSanitizer and its relatives, read from their beginning. Pure.

A report begins with its kind and the stack of the access; what follows (the memory around the
address, a legend) is longer and says less.
"""

from __future__ import annotations

from collections.abc import Callable

from freezeframe.model import late_regex
from freezeframe.model.calls import CallSite
from freezeframe.model.crashes import SanitizerReport, SanitizerStack

_ERROR = late_regex.compile(
    r"(?:==\d+==\s*)?(?:ERROR|WARNING): (?P<tool>\w+Sanitizer): (?P<kind>.+)"
)
#: `ub.c:3:39: runtime error: signed integer overflow: …`
_UNDEFINED = late_regex.compile(r"(?P<path>[^\s:]+):(?P<line>\d+):\d+: runtime error: (?P<kind>.+)")
#: `#1 0x55d in sum /shop/sum.c:12:7`, `#0 bump() /shop/race.cpp:4 (race+0x12)`
_FRAME = late_regex.compile(
    r"\s*#\d+\s+(?:0x[0-9a-f]+\s+)?(?:in\s+)?(?P<function>.+?)\s+"
    r"(?P<path>(?:/|\.\.?/|[\w.-]+\.\w)[^\s:()]*):(?P<line>\d+)(?::\d+)?(?:\s|$)"
)
_ANY_FRAME = late_regex.compile(r"\s*#\d+\s")
_END = late_regex.compile(r"SUMMARY: |Shadow bytes|={10,}|HINT: ")
#: what a kind is followed by: ` on address 0x6020 at pc 0x55 …`, ` (pid=123)`
_ADDRESS = late_regex.compile(
    r" on (?:unknown )?address 0x[0-9a-f]+.*| \(pid=\d+\)| 0x[0-9a-f]+ .*"
)
_POINTER = late_regex.compile(
    r"\s*\([^()\s]*\+0x[0-9a-f]+\)|\s*\[0x[^)]*\)|\s*\(?\b(?:at |to )?0x[0-9a-f]+\)?"
)
_FACT = late_regex.compile(r"is located|Location is|leak of|object\(s\)|caused by a|stack frame")
_MOST_STACKS, _MOST_FRAMES, _MOST_FACTS = 3, 4, 3


def sanitizer_report(output: str, is_user: Callable[[str], bool]) -> SanitizerReport | None:
    """Return the first report in what a program printed; None if there is none.

    *is_user* tells whether a path is the user's code.
    """
    lines = output.splitlines()
    for at, line in enumerate(lines):
        found = _ERROR.search(line)
        if found is not None:
            kind = _ADDRESS.sub("", found["kind"]).strip()
            return _read(found["tool"], kind, lines[at + 1 :], is_user)
        undefined = _UNDEFINED.search(line)
        if undefined is not None:
            report = _read(
                "UndefinedBehaviorSanitizer", undefined["kind"], lines[at + 1 :], is_user
            )
            site = CallSite(undefined["path"], int(undefined["line"]), "")
            stacks = report.stacks or (SanitizerStack("", (site,)),)
            return SanitizerReport(report.tool, report.kind, stacks)
    return None


def _read(
    tool: str, kind: str, lines: list[str], is_user: Callable[[str], bool]
) -> SanitizerReport:
    stacks: list[SanitizerStack] = []
    facts: list[str] = []
    title, frames = "", list[CallSite]()
    inside = False
    for line in lines:
        if _END.match(line.strip()) and (stacks or inside):
            break
        frame = _FRAME.match(line)
        if frame is not None or _ANY_FRAME.match(line):
            inside = True
            if frame is not None and is_user(frame["path"]) and len(frames) < _MOST_FRAMES:
                where = frame["path"], int(frame["line"]), frame["function"]
                frames.append(CallSite(*where))
            continue
        if inside:
            stacks.append(SanitizerStack(title, tuple(frames)))
            title, frames, inside = "", [], False
        text = _POINTER.sub("", line.strip()).rstrip(":").strip()
        if text and _FACT.search(text):
            facts.append(text)
        if text:
            title = text.removesuffix(" here")
    if inside:
        stacks.append(SanitizerStack(title, tuple(frames)))
    shown = [each for each in stacks if each.frames] or stacks[:1]
    # Who started the threads matters least.
    shown.sort(key=lambda each: each.title.startswith("Thread "))
    return SanitizerReport(tool, kind, tuple(shown[:_MOST_STACKS]), tuple(facts[:_MOST_FACTS]))
