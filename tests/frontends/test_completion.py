"""Completion scripts: valid in their shells, and offering what the table has."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from freezeframe.errors import UsageError
from freezeframe.frontends.completion import SHELLS, script
from freezeframe.ops._registry import Registry


def _shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def _run(*command: str, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_valid_in_its_shell(ops: Registry, shell: str, tmp_path: Path) -> None:
    file = tmp_path / "completion"
    file.write_text(script(shell, ops))
    _run(_shell(shell), "-n", str(file))


@pytest.mark.parametrize("shell", SHELLS)
def test_the_same_table_gives_the_same_script(ops: Registry, shell: str) -> None:
    assert script(shell, ops) == script(shell, ops)


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
    (["start", "ap"], ["app.py"]),
    (["start", "x", "--", "ap"], ["app.py"]),
    (["break", "-c", "ap"], []),
    (["locals", "--versio"], []),
]


@pytest.mark.parametrize(("words", "offered"), CASES)
def test_bash_offers(ops: Registry, words: list[str], offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "app.py").touch()
    (tmp_path / ".dbg.bash").write_text(script("bash", ops))
    ask = (
        'source ./.dbg.bash; COMP_WORDS=(dbg "$@"); COMP_CWORD=$#; _dbg; '
        'for each in "${COMPREPLY[@]}"; do printf \'%s\\n\' "$each"; done'
    )
    found = _run(_shell("bash"), "--norc", "-c", ask, "ask", *words, cwd=tmp_path)
    assert sorted(found.split()) == offered


def test_bash_completes_a_value_after_an_equals_sign(ops: Registry, tmp_path: Path) -> None:
    (tmp_path / ".dbg.bash").write_text(script("bash", ops))
    # bash itself takes `--child=fo` apart before it asks.
    ask = (
        "source ./.dbg.bash; COMP_WORDS=(dbg start --child = fo); COMP_CWORD=4; "
        '_dbg; echo "${COMPREPLY[@]}"'
    )
    assert _run(_shell("bash"), "--norc", "-c", ask, cwd=tmp_path) == "follow\n"


@pytest.mark.parametrize(("words", "offered"), CASES)
def test_fish_offers(ops: Registry, words: list[str], offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "app.py").touch()
    (tmp_path / ".dbg.fish").write_text(script("fish", ops))
    ask = f"source ./.dbg.fish; complete -C 'dbg {' '.join(words)}'"
    found = _run(_shell("fish"), "--no-config", "-c", ask, cwd=tmp_path)
    assert sorted(line.split("\t")[0] for line in found.splitlines()) == offered


@pytest.mark.parametrize(("words", "offered"), CASES)
def test_zsh_offers(ops: Registry, words: list[str], offered: list[str], tmp_path: Path) -> None:
    (tmp_path / ".dbg.zsh").write_text(script("zsh", ops))
    # The completion system needs a terminal; its three builtins are stood in for.
    ask = (
        "compdef() { : }; compset() { : }; "
        "compadd() { shift; print -rl -- $* }; _files() { print -r -- app.py }; "
        'source ./.dbg.zsh; words=(dbg "$@"); CURRENT=$(($# + 1)); PREFIX="${@[-1]}"; _dbg'
    )
    found = _run(_shell("zsh"), "-f", "-c", ask, "ask", *words, cwd=tmp_path).split()
    # zsh does the filtering by what is typed.
    assert sorted(word for word in found if word.startswith(words[-1])) == offered
