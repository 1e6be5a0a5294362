"""Transcripts in Markdown: what the documents show is what really happens.

A fenced block marked `console` is a transcript. A line that begins with `$ ` is a command for a
POSIX shell, `# ` a remark, everything else what the command prints. The blocks of a document are
played one after another, in one project that holds a copy of examples/.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from .client import CLIENT, HANG_S, REPOSITORY, Dbg

_BLOCK = re.compile(r"^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)

#: where the project of a test would stand on a user's machine
_PROJECT = "/home/me/project"

#: what differs from run to run or from machine to machine → what stands for it
_UNSTABLE = (
    (re.compile(r"\bpid \d+"), "pid PID"),
    (re.compile(r"\b0x[0-9a-f]{6,}"), "0xADDRESS"),
    (re.compile(r"\bdebugpy \d+(\.\w+)+"), "debugpy VERSION"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|min)\b"), "TIME"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


@dataclass(frozen=True)
class Step:
    """A command, the remarks above it, and what it printed."""

    remarks: str
    command: str
    printed: str

    def __str__(self) -> str:
        return f"{self.remarks}$ {self.command}\n{self.printed}"


def blocks(document: str) -> list[str]:
    """Return the transcripts of a Markdown document, in order."""
    return [match["text"] for match in _BLOCK.finditer(document)]


def steps(transcript: str) -> list[Step]:
    """Read a transcript. Nothing of it is lost: joined again, the steps are the text."""
    found: list[Step] = []
    remarks = ""
    for line in transcript.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append(Step(remarks, line[2:].rstrip("\n"), ""))
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

    def play(self, step: Step) -> Step:
        """Return the step with what its command prints now, both streams in one."""
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
        printed = done.stdout.decode(errors="replace").replace(str(self._project), _PROJECT)
        # A remark is set off by an empty line, which belongs to the page and not to the answer.
        gap = "\n" if step.printed.endswith("\n\n") or step.printed == "\n" else ""
        return replace(step, printed=printed + gap)


def rewritten(document: str, player: Player) -> str:
    """Return *document* with its transcripts played anew, unchanged where they still hold."""

    def again(match: re.Match[str]) -> str:
        played = [(step, player.play(step)) for step in steps(match["text"])]
        same = [old if stable(str(old)) == stable(str(new)) else new for old, new in played]
        return f"```console\n{''.join(map(str, same))}```"

    return _BLOCK.sub(again, document)


def documents() -> list[Path]:
    """Return the documents that hold transcripts."""
    pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
    pages.append(REPOSITORY / "examples" / "README.md")
    return [page for page in pages if blocks(page.read_text(encoding="utf-8"))]
