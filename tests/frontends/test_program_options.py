"""Whose the options are that stand behind a program's name."""

from __future__ import annotations

import shlex

import pytest

from freezeframe.errors import UsageError
from freezeframe.frontends.parser import parse
from freezeframe.ops.table import OPS


def read(line: str):
    return parse(shlex.split(line), OPS).kwargs


@pytest.mark.parametrize(
    ("line", "program", "args", "others"),
    [
        ("pytest -q x.py", "pytest", ("-q", "x.py"), {}),
        ("pytest -s -m slow -e --tb=short", "pytest", ("-s", "-m", "slow", "-e", "--tb=short"), {}),
        ("python -m pytest -b a.py:3", "python", ("-m", "pytest"), {"breakpoints": ("a.py:3",)}),
        (
            "pytest -q -b 'a.py:3 if n'",
            "pytest",
            ("-q",),
            {"breakpoints": ("a.py:3 if n",)},
        ),
        ("go test -bench . -tags x", "go", ("test", "-bench", ".", "-tags", "x"), {}),
        ("python -m unittest -b", "python", ("-m", "unittest", "-b"), {}),
        ("tox -e py -- -k x", "tox", ("-e", "py", "--", "-k", "x"), {}),
        ("cargo run --bin x -- a", "cargo", ("run", "--bin", "x", "--", "a"), {}),
        ("cargo -- run -- a", "cargo", ("run", "--", "a"), {}),
        ("pytest x -- -k y", "pytest", ("x", "-k", "y"), {}),
        ("app.py --verbose -e", "app.py", ("--verbose",), {"stop_on_entry": True}),
        ("app.py -x -t 5 -v", "app.py", ("-x", "-v"), {"timeout": 5.0}),
        ("node_modules/.bin/jest -t x", "node_modules/.bin/jest", ("-t", "x"), {}),
        ("-m mod --cwd d --help -e", "mod", ("--help", "-e"), {"module": True, "cwd": "d"}),
        ("-m mod -m slow --no-record", "mod", ("-m", "slow"), {"module": True, "record": False}),
        (
            "gunicorn -b 127.0.0.1:80 -b :81 a:app -b a.py:3",
            *("gunicorn", ("-b", "127.0.0.1:80", "-b", ":81", "a:app")),
            {"breakpoints": ("a.py:3",)},
        ),
        ("A=./b npm test -- -t x", "A=./b", ("npm", "test", "--", "-t", "x"), {}),
        ("env A=b pytest x -- -k y", "env", ("A=b", "pytest", "x", "-k", "y"), {}),
        ("npm test --name web", "npm", ("test",), {"name": "web"}),
    ],
)
def test_what_dbg_knows_is_its_own_and_the_rest_the_programs(line, program, args, others):
    assert read(f"start {line}") == {"program": program, "args": args, **others}


def test_a_misspelt_option_of_ours_is_pointed_out():
    with pytest.raises(UsageError) as caught:
        read("start app.py --stop-on-entri")

    assert caught.value.next == "dbg start app.py --stop-on-entry"
