"""Answers of installed programs are cached, unless they did not answer."""

from __future__ import annotations

from pathlib import Path

from freezeframe.backends.transport.version_query import kept_answer, version


def test_a_killed_program_is_queried_again(tmp_path: Path):
    program = tmp_path / "tool"
    program.write_text(
        f"#!/bin/sh\necho once >> {tmp_path}/asked\n"
        f"[ -e {tmp_path}/second ] || {{ : > {tmp_path}/second; kill -9 $$; }}\necho version 4.2\n"
    )
    program.chmod(0o755)
    command = (str(program), "--version")
    assert kept_answer(command) is None
    assert version(command, r"version (\S+)") == "4.2"
    assert version(command, r"version (\S+)") == "4.2"
    assert (tmp_path / "asked").read_text() == "once\nonce\n"
