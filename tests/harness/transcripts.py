"""Transcripts in Markdown: what the documents show is what really happens.

A fenced block marked `console` or `mcp` is a transcript. A line that begins with `$ ` is a command
for a POSIX shell, `# ` a remark, everything else what the command prints; in `mcp` a line that
begins with `> ` is a tool of `dbg mcp` and its arguments. The blocks of a document are played one
after another, in one project that holds a copy of examples/.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from .client import CLIENT, HANG_S, REPOSITORY, Dbg
from .raw_mcp_client import Raw

_BLOCK = re.compile(r"^```(?P<kind>console|mcp)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

#: where the project of a test would be on a user's machine
_PROJECT = "/home/me/project"

#: what differs from run to run or from machine to machine → its placeholder
_UNSTABLE = (
    (re.compile(r"\bpid \d+"), "pid PID"),
    (re.compile(r"\b0x[0-9a-f]{6,}"), "0xADDRESS"),
    (re.compile(r"\b(debugpy|lldb-dap|gdb-mi|gdb) \d+(\.\w+)+"), r"\1 VERSION"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min)\b"), "TIME"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


@dataclass(frozen=True)
class Step:
    """A command or a call, the remarks above it, and what came back."""

    remarks: str
    command: str
    printed: str
    #: `$ ` or `> `
    sign: str = "$ "

    def __str__(self) -> str:
        return f"{self.remarks}{self.sign}{self.command}\n{self.printed}"


def blocks(document: str) -> list[str]:
    """Return the transcripts of a Markdown document, in order."""
    return [match["text"] for match in _BLOCK.finditer(document)]


def steps(transcript: str, signs: tuple[str, ...] = ("$ ",)) -> list[Step]:
    """Read a transcript. Nothing of it is lost: joined again, the steps are the text."""
    found: list[Step] = []
    remarks = ""
    for line in transcript.splitlines(keepends=True):
        if line.startswith(signs):
            found.append(Step(remarks, line[2:].rstrip("\n"), "", line[:2]))
            remarks = ""
        elif line.startswith("# ") or remarks or not found:
            remarks += line
        else:
            found[-1] = replace(found[-1], printed=found[-1].printed + line)
    assert not remarks, f"a transcript ends with a command and its answer, not with {remarks!r}"
    return found


def stable(text: str) -> str:
    """Return *text* without what differs from run to run."""
    for pattern, name in _UNSTABLE:
        text = pattern.sub(name, text)
    return text


class Player:
    """Plays transcripts as a user of the project would: `dbg` and `python` are on PATH."""

    def __init__(self, dbg: Dbg) -> None:
        self._project = dbg.project
        shutil.copytree(REPOSITORY / "examples", self._project, dirs_exist_ok=True)
        words = dbg.home / "bin"
        words.mkdir()
        for name, line in (("python", ""), ("dbg", f" '{CLIENT}'")):
            (words / name).write_text(f"#!/bin/sh\nexec '{sys.executable}'{line} \"$@\"\n")
            (words / name).chmod(0o755)
        self._env = {**dbg.env, "PATH": f"{words}{os.pathsep}{dbg.env['PATH']}"}
        self._dbg = dbg
        self._speaker: Raw | None = None
        self._calls = 0

    def play(self, step: Step) -> Step:
        """Return the step with what comes back now; of a command both streams in one."""
        printed = self._called(step) if step.sign == "> " else self._printed(step)
        printed = printed.replace(str(self._project), _PROJECT)
        # A remark is set off by an empty line, which belongs to the page and not to the answer.
        gap = "\n" if step.printed.endswith("\n\n") or step.printed == "\n" else ""
        return replace(step, printed=printed + gap)

    def close(self) -> None:
        if self._speaker is not None:
            assert self._speaker.close() == 0

    def _called(self, step: Step) -> str:
        """Return the text that a tool answers with."""
        if self._speaker is None:
            self._speaker = Raw(self._dbg, self._env)
            self._speaker.greet()
        tool, _, arguments = step.command.partition(" ")
        self._calls += 1
        result = self._speaker.call(self._calls, tool, **json.loads(arguments or "{}"))
        return str(result["content"][0]["text"])

    def _printed(self, step: Step) -> str:
        """Return what a command prints."""
        done = subprocess.run(
            ["sh", "-c", step.command],
            cwd=self._project,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=HANG_S,
            check=False,
        )
        return done.stdout.decode(errors="replace")


def rewritten(document: str, player: Player) -> str:
    """Return *document* with its transcripts played anew, unchanged where they still hold."""

    def again(match: re.Match[str]) -> str:
        signs = ("$ ", "> ") if match["kind"] == "mcp" else ("$ ",)
        played = [(step, player.play(step)) for step in steps(match["text"], signs)]
        same = [old if stable(str(old)) == stable(str(new)) else new for old, new in played]
        return f"```{match['kind']}\n{''.join(map(str, same))}```"

    try:
        return _BLOCK.sub(again, document)
    finally:
        player.close()


def documents() -> list[Path]:
    """Return the documents that hold transcripts."""
    pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
    pages.append(REPOSITORY / "examples" / "README.md")
    return [page for page in pages if blocks(page.read_text(encoding="utf-8"))]
