"""The documents say what is so: transcripts are played, names looked up, links followed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import freezeframe
import freezeframe.frontends.cli_ops  # declares operations
from freezeframe.backends.backend import Launch
from freezeframe.backends.dap.adapters._descriptor import Adapter, LaunchEnvironment
from freezeframe.backends.debugger import Missing
from freezeframe.config import AdapterConfig
from freezeframe.ops._registry import OPS
from harness import transcripts
from harness.client import REPOSITORY, Dbg

#: set by `make regen`: write what the commands print now, instead of comparing
REWRITE = "FREEZEFRAME_REWRITE_TRANSCRIPTS"

PAGES = [
    *(REPOSITORY / name for name in ("README.md", "AGENTS.md", "CHANGELOG.md")),
    *sorted((REPOSITORY / "docs").glob("*.md")),
    REPOSITORY / "examples" / "README.md",
]


def text_of(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", transcripts.documents(), ids=lambda page: page.name)
def test_a_transcript_shows_what_the_commands_print(page: Path, dbg: Dbg):
    document = page.read_text(encoding="utf-8")
    used = set(re.findall(r"^via ([\w-]+)|^note: built: .* with (\w+)", document, re.MULTILINE))
    here = {each["name"] for each in dbg.data("adapters")["adapters"] if each["found"]}
    missing = [name for name in map("".join, used) if name not in here and not shutil.which(name)]
    if missing and not os.environ.get("CI"):
        pytest.skip(f"the page was played with {' and '.join(missing)}; dbg setup NAME")

    played = transcripts.rewritten(document, transcripts.Player(dbg))

    assert str(REPOSITORY) not in played, "a file of ours stands in an answer"
    if os.environ.get(REWRITE):
        page.write_text(played, encoding="utf-8")
    else:
        assert transcripts.stable(played) == transcripts.stable(document), "make regen rewrites it"


def test_the_demo_plays_the_transcript_of_the_readme():
    demo = text_of("demo.sh")

    assert "README.md" in demo
    assert not re.search(r"^\s*dbg (?!daemon stop)", demo, re.MULTILINE), "a command of its own"


def test_steps_joined_again_are_the_transcript():
    text = "# why\n$ dbg start a.py\nstopped\n\n# and then\n# more\n$ dbg stop\n$ dbg status\nx\n"

    found = transcripts.steps(text)

    assert "".join(map(str, found)) == text
    assert [step.command for step in found] == ["dbg start a.py", "dbg stop", "dbg status"]


def test_only_what_differs_from_run_to_run_is_left_out():
    assert transcripts.stable("pid 12 up 3 s via debugpy 1.8.2") == (
        "pid PID up TIME via debugpy VERSION"
    )
    assert transcripts.stable("stopped: breakpoint 1 at a.py:25") == (
        "stopped: breakpoint 1 at a.py:25"
    )


def commands_in(text: str) -> set[str]:
    """Every `dbg …` and every word in the table of the vocabulary that is written as code."""
    return {
        match[1]
        for code in re.findall(r"`([^`\n]+)`", text)
        for match in [re.match(r"dbg ([a-z][a-z-]*)", code)]
        if match
    }


def spellings() -> set[str]:
    """The first word of every name that an operation has."""
    return {name.split()[0] for spec in OPS for name in (spec.name, *spec.aliases)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_named_exists(page: Path):
    text = page.read_text(encoding="utf-8")
    if page.name == "README.md" and "## Vocabulary" in text:
        table = text.split("## Vocabulary")[1].split("\n## ")[0]
        words = {code.split()[0] for code in re.findall(r"`([^`\n]+)`", table)}
        named = commands_in(text) | {word for word in words if word.isalpha() and word.islower()}
    else:
        named = commands_in(text)

    assert named - {"dbg", "debugger"} <= spellings()


def test_the_vocabulary_of_the_readme_has_every_operation():
    table = text_of("README.md").split("## Vocabulary")[1].split("\n## ")[0]
    words = set(re.findall(r"[a-z][a-z-]*", " ".join(re.findall(r"`([^`\n]+)`", table))))

    missing = [
        spec.name
        for spec in OPS
        if not spec.hidden
        if not any(set(name.split()) <= words for name in (spec.name, *spec.aliases))
    ]

    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_link_leads_somewhere(page: Path):
    wrong = [
        target
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_file_that_is_named_exists(page: Path):
    """`backends/dap/debuggee.py` is below the package, `tests/harness` below the root."""
    roots = (REPOSITORY, REPOSITORY / "src" / "freezeframe", page.parent, REPOSITORY / "examples")
    wrong = [
        name
        for name in re.findall(r"`([\w./-]+/[\w.-]*|\w+\.(?:sh|md))`", page.read_text("utf-8"))
        if not name.startswith(("/", "~", "app", "tests/test_a", ".vscode/", ".zed/", ".cache/"))
        if "NAME" not in name
        if not any((root / name).exists() for root in roots)
    ]
    assert not wrong


def test_the_adapter_of_the_guide_is_one(tmp_path: Path):
    code = re.search(r"```python\n(.*?)```", text_of("AGENTS.md"), re.DOTALL)
    assert code
    names: dict[str, Any] = {}
    exec(compile(code[1], "AGENTS.md", "exec"), names)
    adapter = names["ADAPTER"]
    debugger = tmp_path / "moondap"
    debugger.touch(mode=0o755)

    missing = adapter.find({"PATH": "/nowhere"}, AdapterConfig())
    found = adapter.find({"PATH": str(tmp_path)}, AdapterConfig())
    plan = adapter.plan(
        Launch("/p/x.moon", ("1",), cwd="/p"),
        LaunchEnvironment(found, AdapterConfig(), endpoint=None, directory="/p"),
    )

    assert isinstance(adapter, Adapter)
    assert isinstance(missing, Missing)
    assert plan.spawn.argv == (str(debugger), "--stdio")
    assert plan.arguments == {
        "program": "/p/x.moon",
        "args": ["1"],
        "cwd": "/p",
        "stopOnEntry": False,
    }


def test_the_changelog_knows_this_version():
    assert f"## [{freezeframe.__version__}]" in text_of("CHANGELOG.md")


def test_every_variable_of_the_environment_that_is_named_is_read():
    named = set(re.findall(r"\bFREEZEFRAME_[A-Z_]+\b", text_of("README.md")))
    source = "".join(
        path.read_text(encoding="utf-8") for path in Path(freezeframe.__file__).parent.rglob("*.py")
    )
    assert {name for name in named if name not in source} == set()
