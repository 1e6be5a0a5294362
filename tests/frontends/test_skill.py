"""The skill is correct: its commands are commands, and none is left out."""

from __future__ import annotations

import re
import shlex

import pytest

from freezeframe import __version__
from freezeframe.frontends import cli_ops
from freezeframe.frontends.parser import parse
from freezeframe.ops._registry import OPS
from freezeframe.ops._skill import command_on_path, header, skill_text

BYTES_PER_TOKEN = 3
SHOWN = re.findall(r"`dbg ([^`]+)`", skill_text().replace("\n  ", " "))

assert cli_ops  # the whole vocabulary


def test_the_skill_is_short_and_of_this_version():
    assert len(skill_text().encode()) <= 1100 * BYTES_PER_TOKEN
    assert skill_text().startswith(f"{header()}# dbg {__version__}")
    assert "{" not in skill_text().replace("{n}", "")


def test_its_header_names_the_version_and_the_commands_it_may_run():
    assert f'metadata:\n  version: "{__version__}"\n' in header()
    assert "\nallowed-tools: Bash(dbg:*) Bash(freezeframe:*)\n" in header()


def test_it_says_freezeframe_where_another_dbg_is_first_on_path(tmp_path):
    other = tmp_path / "dbg"
    other.write_text("#!/bin/sh\necho another\n")
    other.chmod(0o755)
    assert command_on_path({"PATH": str(tmp_path)}) == "freezeframe"
    other.write_text("#!/usr/bin/python3\nfrom freezeframe.client import main\n")
    assert command_on_path({"PATH": str(tmp_path)}) == "dbg"
    assert command_on_path({"PATH": str(tmp_path / "none")}) == "dbg"

    text = skill_text("freezeframe")
    assert "`freezeframe test" in text
    assert "`dbg " not in text


@pytest.mark.parametrize("line", SHOWN)
def test_every_command_of_the_skill_is_one(line):
    assert parse(shlex.split(line)).op is not None


def test_no_command_that_debugs_is_left_out():
    words = set(re.findall(r"[a-z][a-z-]*", skill_text()))
    missing = [
        spec.name
        for spec in OPS
        if not spec.hidden and spec.group != "admin"
        if not any(set(name.split()) <= words for name in (spec.name, *spec.aliases))
    ]
    assert not missing
