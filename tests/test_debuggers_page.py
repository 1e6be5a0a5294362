"""The page of debuggers and promises: made of a run, and honest about what was not tried."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location(
        "debuggers_page", ROOT / "tools" / "debuggers_page.py"
    )
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def row(page, name, language, *, refuses=(), outcome="passed", **others):
    tests = {test: outcome for promise in page.PROMISES for test in promise.tests}
    tests |= {test: others[key] for key in others for test in tests if key in test}
    return {"name": name, "language": language, "refuses": list(refuses), "tests": tests}


def test_every_promise_is_held_by_tests_that_exist(page):
    for promise in page.PROMISES:
        assert promise.tests
        for test in promise.tests:
            file, _, name = test.partition("::")
            tree = ast.parse((ROOT / "tests" / "adapters" / file).read_text())
            assert name in [each.name for each in ast.walk(tree) if hasattr(each, "name")], test


def test_what_passed_works_unless_the_row_says_that_it_is_refused(page):
    rows = {"a": row(page, "x", "C", refuses=("jump 1", "watch total"))}

    marks = page.columns(rows)["x (C)"]

    assert (marks["jump"], marks["watchpoints"]) == ("–", "–")
    assert set(marks.values()) == {"✓", "–"}


def test_what_failed_or_was_not_tried_is_never_called_working(page):
    marks = page.columns({"a": row(page, "x", "C", until="failed", pause="skipped")})["x (C)"]

    assert marks["run to a location"] == "✗"
    assert marks["pause"] == "?"


def test_languages_of_one_debugger_share_a_column_and_say_where_they_differ(page):
    rows = {
        "a": row(page, "x", "C"),
        "b": row(page, "x", "Rust", refuses=("jump 1",)),
        "c": row(page, "skipped", "C", outcome="skipped"),
    }

    found = page.columns(rows)

    assert list(found) == ["x (C, Rust)"]
    assert found["x (C, Rust)"]["jump"] == "– Rust, ✓ C"
    assert found["x (C, Rust)"]["conditions"] == "✓"


def test_languages_that_take_turns_are_seen_together(page):
    rows = {
        "a": row(page, "x", "C", pause="skipped"),
        "b": row(page, "x", "Rust", outcome="skipped", pause="passed"),
        "c": row(page, "y", "C", pause="failed"),
        "d": row(page, "y", "Rust"),
    }

    assert page.columns(rows)["x (C, Rust)"]["pause"] == "✓"
    assert page.columns(rows)["y (C, Rust)"]["pause"] == "✗"


def test_a_page_is_read_back_as_it_was_written(page):
    found = page.columns({"a": row(page, "x", "C"), "b": row(page, "y", "Go", jump="failed")})

    assert page.parse(page.page(found)) == found


def test_a_debugger_that_did_not_run_keeps_its_column(page):
    old = page.columns({"a": row(page, "x", "C"), "b": row(page, "y", "Go")})
    new = page.columns({"b": row(page, "y", "Go", refuses=("jump 1",), pause="skipped")})

    renewed = page.renewed(old, new)

    assert renewed["x (C)"] == old["x (C)"]
    assert renewed["y (Go)"]["jump"] == "–"
    assert renewed["y (Go)"]["pause"] == "✓"


def test_a_run_in_fewer_languages_does_not_take_the_others_away(page):
    old = page.columns({"a": row(page, "x", "C"), "b": row(page, "x", "Rust")})
    new = page.columns({"a": row(page, "x", "C", jump="failed")})

    assert list(page.renewed(old, new)) == ["x (C, Rust)"]
    assert list(page.renewed(new, old)) == ["x (C, Rust)"]


def test_the_page_has_every_promise(page):
    there = page.parse((ROOT / "docs" / "DEBUGGERS.md").read_text())

    titles = [promise.title for promise in page.PROMISES]
    assert there
    for marks in there.values():
        assert list(marks) == titles, "run the tests, then: python tools/debuggers_page.py"
        assert all(marks.values())
