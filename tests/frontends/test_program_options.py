"""Whether options after a program's name are ours or the program's."""

from __future__ import annotations

import shlex

import pytest

from freezeframe.errors import UsageError
from freezeframe.frontends.parser import parse
from freezeframe.ops._registry import OPS


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
        (
            "go test -run X . -b shop.(*Cart).add -b shop.Map[...]",
            *("go", ("test", "-run", "X", ".")),
            {"breakpoints": ("shop.(*Cart).add", "shop.Map[...]")},
        ),
        (
            "app 1 -b '<Line as Shape>::area' -b 'Shop::at(int, char *)' -b 'operator new'",
            *("app", ("1",)),
            {"breakpoints": ("<Line as Shape>::area", "Shop::at(int, char *)", "operator new")},
        ),
        (
            "rspec x_spec.rb -b 'Cart#empty?' -b 'Shop\\Cart->add' -b 'a.rb:\"def b\"'",
            *("rspec", ("x_spec.rb",)),
            {"breakpoints": ("Cart#empty?", "Shop\\Cart->add", 'a.rb:"def b"')},
        ),
        ("rspec -b spec/x_spec.rb", "rspec", ("-b", "spec/x_spec.rb"), {}),
        ("python -m unittest -b", "python", ("-m", "unittest", "-b"), {}),
        ("tox -e py -- -k x", "tox", ("-e", "py", "--", "-k", "x"), {}),
        ("cargo run --bin x -- a", "cargo", ("run", "--bin", "x", "--", "a"), {}),
        ("cargo -- run -- a", "cargo", ("run", "--", "a"), {}),
        ("cargo -t 60 -- test x", "cargo", ("test", "x"), {"timeout": 60.0}),
        ("mvn -t 60 -- -q test", "mvn", ("-q", "test"), {"timeout": 60.0}),
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


def test_a_misspelt_option_of_the_operation_is_reported():
    with pytest.raises(UsageError) as caught:
        read("start app.py --stop-on-entri")

    assert caught.value.next == "dbg start app.py --stop-on-entry"


@pytest.mark.parametrize("option", ["-c", "--if", "--when", "--condition"])
@pytest.mark.parametrize("program", ["app.py", "python app.py", "pytest t.py"])
def test_a_condition_behind_a_breakpoint_is_the_breakpoints(option, program):
    given = read(f"start {program} -b app.py:3 {option} 'n > 3' x")

    assert given["breakpoints"] == ("app.py:3 if n > 3",)
    assert given["args"][-1] == "x"


def test_a_hit_count_behind_a_breakpoint_is_not_given_to_the_program():
    with pytest.raises(UsageError) as caught:
        read("start app.py -b app.py:3 --hit-count 2")
    assert caught.value.next == "dbg break app.py:3 --hit-count 2"
    assert read("start app.py --if x")["args"] == ("--if", "x")
    assert read("start app.py -c x")["args"] == ("-c", "x")
