"""Completion: the candidates of a command line, and the scripts that ask for them."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from freezeframe.errors import UsageError
from freezeframe.frontends.completion import SHELLS, complete, script
from freezeframe.ops._registry import Registry


def _words(lines: list[str]) -> list[str]:
    return sorted(line.split("\t")[0] for line in lines)


def test_an_unknown_shell_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="bash, zsh, fish"):
        script("tcsh")


CASES = [
    (["br"], ["break", "breakpoint", "breaks"]),
    (["breakpoint", ""], ["add", "list", "remove"]),
    (["break", "--c"], ["--color", "--condition"]),
    (["breakpoint", "add", "--c"], ["--color", "--condition"]),
    (["-s", "break", "loc"], ["locals"]),
    (["start", "--child", ""], ["follow", "ignore"]),
    (["print", "--format", "b"], ["binary"]),
    (["print", "x", "--dep"], ["--depth"]),
    (["watch", ""], ["list"]),
    (["start", "--no-w"], ["--no-wait"]),
    (["start", "ap"], [":file"]),
    (["start", "x", "--", "ap"], [":file"]),
    (["break", "-c", "ap"], []),
    (["start", "--cwd", "ap"], [":directory"]),
    (["start", "--child=f"], ["--child=follow"]),
    (["start", "--child", "=", "fo"], ["follow"]),
    (["locals", "--versio"], []),
]


@pytest.mark.parametrize(("words", "offered"), CASES)
def test_candidates(ops: Registry, words: list[str], offered: list[str]) -> None:
    assert _words(complete(words, ops)) == offered


#: how each shell is asked for the candidates of the words that follow; the completion system of zsh
#: needs a terminal, so its builtins are replaced
_ASK = {
    "bash": (
        'source ./.script; COMP_WORDS=(dbg "$@"); COMP_CWORD=$#; _dbg; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    ),
    "zsh": (
        "compdef() { : }; compset() { : }; "
        "compadd() { shift; print -rl -- $* }; _files() { print -r -- app.py }; "
        'source ./.script; words=(dbg "$@"); CURRENT=$(($# + 1)); _dbg'
    ),
    "fish": 'source ./.script; complete -C "dbg $argv"',
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_offers_what_the_daemon_returns(dbg, shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    (dbg.project / "app.py").touch()
    (dbg.project / ".script").write_text(dbg("completion", shell).out)

    def offered(*words: str) -> list[str]:
        options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
        zeroth = [] if shell == "fish" else ["ask"]
        command = [found, *options, "-c", _ASK[shell], *zeroth, *words]
        done = subprocess.run(command, cwd=dbg.project, env=dbg.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return _words(done.stdout.split("\n")[:-1])

    assert offered("breakpoint", "ad") == ["add"]
    assert offered("start", "--chil") == ["--child"]
    assert offered("daemon", "") == ["status", "stop"]
    assert offered("start", "ap") == ["app.py"]
    assert offered("start", "x", "--", "ap") == ["app.py"]
    assert not any(offered("break", "-c", "ap"))
