"""Identifiers of src/ use the vocabulary of gdb, LLDB, DAP and Delve (tools/vocabulary.py)."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def vocabulary():
    spec = importlib.util.spec_from_file_location("vocabulary", ROOT / "tools" / "vocabulary.py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_identifier_is_in_the_vocabulary(vocabulary):
    names = vocabulary.refused_names()

    assert not names, "\n".join(map(str, names))


def test_a_public_class_has_a_name_of_its_own(vocabulary):
    """Agents are left out: each runs in a process of its own and is never imported.

    What is one thing on two systems has one name, in `…_posix.py` and `…_windows.py`.
    """
    files: dict[str, list[str]] = {}
    for file in sorted(vocabulary.PACKAGE.rglob("*.py")):
        if file in vocabulary.GENERATED or file.stem.endswith("agent"):
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files.setdefault(node.name, []).append(str(file.relative_to(vocabulary.PACKAGE)))

    siblings = {name for name, where in files.items() if _are_siblings(where)}
    assert {n: where for n, where in files.items() if len(where) > 1 and n not in siblings} == {}


def _are_siblings(files: list[str]) -> bool:
    systems = sorted(Path(file).stem.rpartition("_")[2] for file in files)
    return systems == ["posix", "windows"] and len({Path(file).parent for file in files}) == 1


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("told", "told"),
        ("_last_words", "words"),
        ("StandsAtFirst", "stands"),
        ("_LET_GO_S", "let_go"),
        ("freezeframe_let_go", "let_go"),
        ("_OF_THE_DEAD", "of_the_dead"),
        ("GDBLife", "life"),
    ],
)
def test_a_refused_word_is_found_in_any_case(vocabulary, name, word):
    assert vocabulary.refused_word(name) == word


@pytest.mark.parametrize(
    "name", ["stand_in", "keywords", "lifecycle", "replace", "task", "background", "is_go", "this"]
)
def test_a_word_that_only_contains_a_refused_one_is_allowed(vocabulary, name):
    assert vocabulary.refused_word(name) is None


def test_every_kind_of_definition_is_read(vocabulary, tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "import a as alias\n"
        "class Class:\n"
        "    field: int\n"
        "    def method(self, parameter, *rest, **options): self.attribute = used\n"
        "try:\n    for variable in used: pass\n"
        "except used as error: pass\n"
        "match used:\n    case [*star]: pass\n    case captured: pass\n"
    )

    assert {name for _, name in vocabulary.names_of(file)} == {
        *("module", "alias", "Class", "field", "method", "self", "parameter", "rest", "options"),
        *("attribute", "variable", "error", "star", "captured"),
    }


def test_an_agent_that_is_not_python_is_read_without_its_comments_and_strings(vocabulary, tmp_path):
    file = tmp_path / "agent.rb"
    file.write_text("# comment\ndef method(parameter)\n  'text'\nend\n")

    assert {name for _, name in vocabulary.names_of(file)} == {
        *("agent", "def", "method", "parameter", "end")
    }


def test_every_fixed_name_is_still_defined(vocabulary):
    for path, names in vocabulary.FIXED.items():
        defined = {name for _, name in vocabulary.names_of(vocabulary.PACKAGE / path)}
        assert names.keys() <= defined, path
