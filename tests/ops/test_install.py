"""Which of a debugger's install commands fit this machine, and what they become."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from freezeframe.ops._install import plan


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make a machine with these programs and no others, of an ordinary user or of root."""

    def make(*programs: str, root: bool = False) -> dict[str, str]:
        for name in programs:
            (tmp_path / name).write_text("#!/bin/sh\n")
            (tmp_path / name).chmod(0o755)
        monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
        return {"PATH": str(tmp_path)}

    return make


def commands(*words: str, env: dict[str, str], sudo: bool = False) -> list[tuple[str, str]]:
    return [(step.state, step.command) for step in plan(words, env, sudo=sudo)]


BOTH = ("apt-get install delve", "go install example/dlv@latest")


def test_what_needs_no_root_comes_first(machine):
    env = machine("apt-get", "sudo", "go")

    assert commands(*BOTH, env=env) == [
        ("ready", "go install example/dlv@latest"),
        ("blocked", "sudo -n apt-get install -y delve"),
    ]


def test_root_is_taken_only_when_it_is_given(machine):
    env = machine("apt-get", "sudo")

    assert commands(BOTH[0], env=env) == [("blocked", "sudo -n apt-get install -y delve")]
    [step] = plan(BOTH[:1], env, sudo=False)
    assert "--sudo" in (step.why or "")
    assert commands(BOTH[0], env=env, sudo=True) == [("ready", "sudo -n apt-get install -y delve")]


def test_a_command_that_says_sudo_itself_waits_for_it_too(machine):
    env = machine("apt-get", "sudo", "curl")

    assert commands("sudo apt-get install gdb", env=env)[0][0] == "blocked"
    assert commands("curl x | sudo sh", env=env)[0][0] == "blocked"
    assert commands("curl x | sudo sh", env=env, sudo=True)[0][0] == "ready"


def test_root_needs_no_sudo(machine):
    env = machine("apt-get", root=True)

    assert commands(BOTH[0], env=env) == [("ready", "apt-get install -y delve")]


def test_without_sudo_the_command_is_only_shown(machine):
    env = machine("apt-get")

    [step] = plan(BOTH[:1], env, sudo=True)

    assert (step.state, step.command) == ("blocked", "apt-get install -y delve")
    assert "no sudo" in (step.why or "")


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("dnf", "dnf install -y gdb"),
        ("pacman", "pacman -S --noconfirm gdb"),
        ("apk", "apk add gdb"),
    ],
)
def test_a_package_is_asked_of_the_manager_that_is_here(machine, manager, command):
    [step] = plan(("apt-get install gdb",), machine(manager, root=True), sudo=False)

    assert (step.state, step.command) == ("ready", command)
    assert step.why == f"{manager} may have another name for it"


def test_a_tool_that_is_not_here_is_named(machine):
    [go, clone] = plan((BOTH[1], "git clone x && cd x && npm install"), machine("git"), sudo=False)

    assert (go.state, go.why) == ("blocked", "there is no go here")
    assert (clone.state, clone.why) == ("blocked", "there is no npm here")


def test_a_package_of_python_is_installed_beside_us(machine):
    assert commands("pip install debugpy", env=machine()) == [
        ("ready", f"{sys.executable} -m pip install debugpy")
    ]


def test_a_sentence_or_an_address_is_for_a_person(machine):
    words = ("it comes with an extension", "https://example.org/download")

    assert [state for state, _ in commands(*words, env=machine())] == ["by hand", "by hand"]


def test_two_spellings_of_one_command_are_one(machine):
    env = machine("apt-get", "apt", root=True)

    assert commands("apt install gdb", "apt-get install gdb", env=env) == [
        ("ready", "apt-get install -y gdb")
    ]
