"""Runners as data: recognised by the project, selectors in natural form, counts from output."""

from __future__ import annotations

from pathlib import Path

import pytest

from freezeframe.errors import NotFound, UsageError
from freezeframe.runners import choice, go_test, junit
from freezeframe.runners import pytest as pytest_runner
from freezeframe.runners import unittest as unittest_runner
from freezeframe.runners.runner import Project, RunSummary

CASES = """\
import unittest
class CartTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(1, 1)
    def test_empty(self):
        pass
"""


def project(
    tmp_path: Path, files: dict[str, str], *selectors: str, k: str | None = None
) -> Project:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Project(str(tmp_path), {}, selectors, k)


@pytest.mark.parametrize(
    ("files", "selectors", "runner"),
    [
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, (), "pytest"),
        ({"test_cart.py": "def test_x(): pass\n"}, (), "pytest"),
        ({"test_cart.py": CASES}, (), "unittest"),
        ({"test_cart.py": CASES}, ("test_cart.py::CartTest",), "pytest"),
        ({"manage.py": "import django\n", "shop/tests.py": CASES}, (), "django"),
        ({"guide.rst": ">>> 1\n1\n"}, ("guide.rst",), "pytest"),
    ],
)
def test_the_project_or_the_selector_shows_the_runner(tmp_path, files, selectors, runner):
    assert choice.choose(project(tmp_path, files, *selectors)).runner.name == runner


def test_a_selected_file_of_examples_is_run_for_its_doctests(tmp_path):
    text = ">>> 1\n1\n"
    files = {"area.py": f'"""\n{text}"""\n', "guide.md": text, "guide.rst": text}

    def words(*selectors):
        return pytest_runner.RUNNER.command(project(tmp_path, files, *selectors)).argv

    assert words("area.py")[-2:] == ("--doctest-modules", "area.py")
    assert words("guide.md::guide.md")[-2:] == ("--doctest-glob=guide.md", "guide.md::guide.md")
    assert words("guide.rst")[-2:] == ("--color=no", "guide.rst")


def test_the_tests_that_cmake_discovered_show_their_program(tmp_path):
    program = tmp_path / "build" / "cart_test"
    listed = f"add_test([=[Cart.Total]=]  {program} [==[--gtest_filter=Cart.Total]==])\n"
    here = project(tmp_path, {"build/cart_test[1]_tests.cmake": listed, "build/cart_test": ""})
    program.write_bytes(b"\x7fELF --gtest_filter")
    program.chmod(0o755)

    assert choice.choose(here).runner.name == "gtest"


def test_without_any_sign_of_a_runner_the_error_names_all_of_them(tmp_path):
    with pytest.raises(NotFound, match="unittest") as error:
        choice.choose(project(tmp_path, {"app.py": ""}))
    assert error.value.next == "dbg test --runner NAME"
    with pytest.raises(UsageError, match="nose"):
        choice.choose(project(tmp_path, {}), "nose")


@pytest.mark.parametrize(
    ("selector", "id"),
    [
        ("test_total", "tests/test_cart.py::CartTest::test_total"),
        ("CartTest", "tests/test_cart.py::CartTest"),
        ("CartTest.test_total", "tests/test_cart.py::CartTest::test_total"),
        ("tests.test_cart.CartTest.test_total", "tests/test_cart.py::CartTest::test_total"),
        ("tests/test_cart.py:6", "tests/test_cart.py::CartTest::test_empty"),
        ("tests/test_cart.py", "tests/test_cart.py"),
        ("tests", "tests"),
        ("test_total[a-1]", "tests/test_cart.py::CartTest::test_total[a-1]"),
    ],
)
def test_selectors_in_natural_form_become_those_of_pytest_and_unittest(tmp_path, selector, id):
    here = project(tmp_path, {"tests/test_cart.py": CASES}, selector)
    assert pytest_runner.RUNNER.command(here).argv[-1] == id
    if "[" not in selector and selector != "tests":
        dotted = id.replace(".py", "").replace("/", ".").replace("::", ".")
        assert unittest_runner.RUNNER.command(here).argv[-1] == dotted


def test_pytest_gets_expressions_and_options_against_what_is_in_the_way(tmp_path):
    settings = "[pytest]\naddopts = -n auto --cov=shop\ntimeout = 5\n"
    here = project(tmp_path, {"tox.ini": settings}, "cart and not slow", k="total")
    command = pytest_runner.RUNNER.command(here)
    argv = command.argv
    assert argv[-2:] == ("-k", "(total) or (cart and not slow)")
    assert "a test that only takes too long counts as passed" in command.notes[0]
    assert {"-n0", "--no-cov", "--timeout=0"} <= set(argv)
    others = "[testenv]\ncommands = pytest -n auto\n[pytest]\naddopts = -q\n[x]\ny = --cov=shop\n"
    argv = pytest_runner.RUNNER.command(project(tmp_path / "x", {"tox.ini": others})).argv
    assert not {"-n0", "--no-cov", "--timeout=0"} & set(argv)
    marked = {"test_a.py": "@pytest.mark.timeout(1)\ndef test_a(): pass\n", "test_b.py": ""}
    assert pytest_runner.RUNNER.command(project(tmp_path / "y", marked)).notes == command.notes
    assert not pytest_runner.RUNNER.command(project(tmp_path / "y", {}, "test_b.py")).notes
    with pytest.raises(NotFound, match="is in no test"):
        pytest_runner.RUNNER.command(project(tmp_path, {"test_a.py": "x = 1\n"}, "test_a.py:1"))


def _summary(runner, output: str) -> RunSummary:
    found = runner.summary(output)
    assert found is not None
    return found


def test_tests_of_junit_are_named_in_nested_classes_and_behind_annotations():
    source = '@ParameterizedTest @ValueSource(strings = {"a"})\nvoid finds(String sku) {}\n'

    assert junit.MAVEN.name_at("shop.CartTest.finds", source, 2) == "CartTest#finds"
    output = "[ERROR]   CartTest$Empty.zero:21 expected\nTests run: 1, Failures: 1, Errors: 0"
    found = _summary(junit.MAVEN, f"{output}, Skipped: 0\n")
    assert found.failed == ("CartTest$Empty#zero",)


def test_a_selected_file_is_run_by_the_runner_that_can_run_it(tmp_path):
    files = {
        "spec/cart_spec.rb": "RSpec.describe Cart\n",
        "test/cart_test.rb": "require 'minitest/autorun'\n",
        "package.json": '{"devDependencies": {"jest": "29"}}',
        "go.mod": "module shop\n",
        "cart_test.go": "package shop\n",
    }
    chosen = {
        "test/cart_test.rb": "minitest",
        "spec/cart_spec.rb:1": "rspec",
        "cart_test.go": "go test",
    }
    for selector, runner in chosen.items():
        assert choice.choose(project(tmp_path, files, selector)).runner.name == runner


def test_the_results_of_gradle_are_those_it_counts_and_names():
    output = (
        ":test\nshop.CartTest > big FAILED\n    java.lang.AssertionError at CartTest.java:15\n"
        "OtherTest > small() FAILED\n\n5 tests completed, 2 failed, 1 skipped\n:test FAILED\n"
        "BUILD FAILED in 1m 4s\n"
    )

    found = _summary(junit.GRADLE, output)

    assert found.counts.known == {"passed": 2, "failed": 2, "skipped": 1}
    assert (found.failed, found.duration_s) == (("CartTest#big", "OtherTest#small"), 64.0)
    # Nothing is counted where all pass.
    assert _summary(junit.GRADLE, ":test\n\nBUILD SUCCESSFUL in 3s\n").counts.known == {}


def test_a_go_test_that_panics_has_results():
    output = "=== RUN   TestA\n--- FAIL: TestA (0.00s)\n=== RUN   TestB\npanic: nil map\n"

    found = _summary(go_test.RUNNER, output)

    assert (found.counts.failed, found.failed, found.nothing) == (1, ("TestA",), False)


def test_results_are_read_from_the_output_of_a_run():
    output = """\
..Fs
FAILED test_a.py::test_x[a b] - assert 1 == 2
ERROR test_b.py - SyntaxError
1 failed, 3 passed, 1 skipped, 2 xfailed, 1 error, 2 subtests passed in 0.40s
"""
    found = _summary(pytest_runner.RUNNER, output)
    assert found.counts.known == {"passed": 3, "failed": 1, "errors": 1, "skipped": 1, "xfailed": 2}
    assert found.failed == ("test_a.py::test_x[a b]", "test_b.py")
    assert found.duration_s == 0.4
    assert _summary(pytest_runner.RUNNER, "\nno tests ran in 0.01s\n").nothing
    assert _summary(pytest_runner.RUNNER, "4 deselected in 0.01s").nothing
    output = """\
FAIL: test_b (test_u.T.test_b) (i=0)
FAIL: test_b (test_u.T.test_b) (i=2)
ERROR: test_c (test_u.T)
Ran 4 tests in 0.507s

FAILED (failures=2, errors=1, skipped=1)
"""
    found = _summary(unittest_runner.RUNNER, output)
    assert found.counts.known == {"passed": 1, "failed": 2, "errors": 1, "skipped": 1}
    assert found.failed == ("test_u.T.test_b", "test_u.T.test_c")
    assert _summary(unittest_runner.RUNNER, "Ran 0 tests in 0.000s\n\nOK\n").nothing
