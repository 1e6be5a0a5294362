"""The skill is correct: its commands are commands, and none is left out."""

from __future__ import annotations

import re
import shlex

import pytest

from freezeframe import __version__
from freezeframe.frontends import cli_ops
from freezeframe.frontends.parser import parse
from freezeframe.frontends.skill import skill_text
from freezeframe.ops._agent_hosts import SKILL_HEADER, THIN_SKILL
from freezeframe.ops._registry import OPS

BYTES_PER_TOKEN = 3
SHOWN = re.findall(r"`dbg ([^`]+)`", skill_text().replace("\n  ", " "))

assert cli_ops  # the whole vocabulary


def test_the_skill_is_short_and_of_this_version():
    assert len(skill_text().encode()) <= 900 * BYTES_PER_TOKEN
    assert skill_text().startswith(f"{SKILL_HEADER}# dbg {__version__}")
    assert "{" not in skill_text().replace("{n}", "")


def test_the_installed_file_leads_to_the_skill_and_has_its_header():
    assert THIN_SKILL.startswith(SKILL_HEADER)
    assert "`dbg skill`" in THIN_SKILL


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
