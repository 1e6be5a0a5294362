"""The command line, on a vocabulary that has one of everything."""
# ruff: noqa: E501  # tables of cases read better with one case a line

from __future__ import annotations

import shlex
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.errors import UsageError
from freezeframe.frontends.parser import parse
from freezeframe.model.locations import Location
from freezeframe.ops._json_schema import from_jsonable, input_schema
from freezeframe.ops._registry import Arg, Flag, Registry

from .conftest import Answer, Format


def read(ops: Registry, line: str):
    return parse(shlex.split(line), ops)


def refused(ops: Registry, line: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        read(ops, line)
    assert caught.value.next is not None, "an error without a next step"
    assert caught.value.message.endswith(".")
    return caught.value


@pytest.mark.parametrize(
    ("line", "name", "kwargs"),
    [
        ("break app.py:3", "breakpoint add", {"where": Location(file="app.py", line=3)}),
        ("break 'app.py:3 if n[1:] > 3'", "breakpoint add", {"where": Location(file="app.py", line=3, condition="n[1:] > 3")}),
        ("b 'std::f if n'", "breakpoint add", {"where": Location(function="std::f", condition="n")}),
        ("b 'app.py:x = 3 if n else 4'", "breakpoint add", {"where": Location(file="app.py", text="x = 3 if n else 4")}),
        ("breakpoint add f", "breakpoint add", {"where": Location(function="f")}),
        ("b", "breakpoint add", {}),
        ("b f -c 'n > 3'", "breakpoint add", {"where": Location(function="f"), "condition": "n > 3"}),
        ("b f --if 'n > 3'", "breakpoint add", {"where": Location(function="f"), "condition": "n > 3"}),
        ("b --condition=a=b f", "breakpoint add", {"where": Location(function="f"), "condition": "a=b"}),
        ("b -cn>3 f", "breakpoint add", {"where": Location(function="f"), "condition": "n>3"}),
        ("b -td f", "breakpoint add", {"where": Location(function="f"), "temporary": True, "disabled": True}),
        ("b -tc x f", "breakpoint add", {"where": Location(function="f"), "temporary": True, "condition": "x"}),
        ("b -c -1 f", "breakpoint add", {"where": Location(function="f"), "condition": "-1"}),
        ("breakpoint remove 1 2", "breakpoint remove", {"ids": [1, 2]}),
        ("next 3", "next", {"count": 3}),
        ("b ':9 if n'", "breakpoint add", {"where": Location(function="9", condition="n")}),
        ("watch list", "watch list", {}),
        ("watch -- list", "watch", {"expression": "list"}),
        ("watch lists", "watch", {"expression": "lists"}),
        ("watch list[0]", "watch", {"expression": "list[0]"}),
        ("print a + b", "print", {"expression": "a + b"}),
        ("print a - b", "print", {"expression": "a - b"}),
        ("p -1", "print", {"expression": "-1"}),
        ("p -x", "print", {"expression": "-x"}),
        ("p a -b", "print", {"expression": "a -b"}),
        ("p -sum(x)", "print", {"expression": "-sum(x)"}),
        ("p len(x) --depth 2", "print", {"expression": "len(x)", "depth": 2}),
        ("p --format hex x", "print", {"expression": "x", "format": Format.HEX}),
        ("p -- --depth", "print", {"expression": "--depth"}),
        ("frame -1", "frame", {"number": -1}),
        ("frame 0x10", "frame", {"number": 16}),
        ("frame", "frame", {}),
        ("raw bt -c 3 --json -s x", "raw", {"command": "bt -c 3 --json -s x"}),
        ("next --count 3", "next", {"count": 3}),
        ("continue --timeout 0.5", "continue", {"timeout": 0.5}),
    ],
)  # fmt: skip
def test_a_command_line_means(ops: Registry, line: str, name: str, kwargs: dict) -> None:
    parsed = read(ops, line)
    assert parsed.op is ops[name]
    assert parsed.kwargs == kwargs


@pytest.mark.parametrize(
    ("line", "kwargs"),
    [
        ("start app.py", {"program": "app.py"}),
        ("start app.py input.txt", {"program": "app.py", "args": ("input.txt",)}),
        ("start app.py -e -- --verbose -e", {"program": "app.py", "stop_on_entry": True, "args": ("--verbose", "-e")}),
        ("start app.py a -e b", {"program": "app.py", "stop_on_entry": True, "args": ("a", "b")}),
        ("start app.py a -- b -- c", {"program": "app.py", "args": ("a", "b", "--", "c")}),
        ("start app.py -1", {"program": "app.py", "args": ("-1",)}),
        ("start -- app.py -x", {"program": "app.py", "args": ("-x",)}),
        ("start -e -m pytest tests/ -x -e --json", {"module": "pytest", "stop_on_entry": True, "args": ("tests/", "-x", "-e", "--json")}),
        ("start -mpytest -x", {"module": "pytest", "args": ("-x",)}),
        ("start --module=pytest -- -x", {"module": "pytest", "args": ("-x",)}),
        ("start -m mod -- a -- b", {"module": "mod", "args": ("a", "--", "b")}),
        ("start app.py -b a.py:1 --break f", {"program": "app.py", "breaks": (Location(file="a.py", line=1), Location(function="f"))}),
        ("start --no-wait app.py", {"program": "app.py", "wait": False}),
        ("start -W app.py", {"program": "app.py", "wait": False}),
        ("start --wait app.py", {"program": "app.py", "wait": True}),
        ("start app.py --child ignore", {"program": "app.py", "child": "ignore"}),
    ],
)  # fmt: skip
def test_program_arguments_are_distinguished_from_options(
    ops: Registry, line: str, kwargs: dict
) -> None:
    assert read(ops, line).kwargs == kwargs


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("run", "continue"),
        ("run --json", "continue"),
        ("run --timeout 5", "continue"),
        ("run app.py", "start"),
        ("run -m pytest", "start"),
        ("run -s web -b f app.py", "start"),
    ],
)
def test_run_starts_a_program_or_continues_it(ops: Registry, line: str, name: str) -> None:
    assert read(ops, line).op is ops[name]


@pytest.mark.parametrize(
    "line",
    [
        "-s web --json --budget 90 --no-color breakpoint list",
        "breakpoint -s web --json list --budget=90 --no-color",
        "breaks --session=web --json --budget 90 --no-color",
        "-sweb breaks --json --budget 90 --no-color",
    ],
)
def test_the_options_of_every_command_stand_anywhere(ops: Registry, line: str) -> None:
    parsed = read(ops, line)
    assert parsed.op is ops["breakpoint list"]
    assert parsed.globals.session == "web"
    assert parsed.globals.json is True
    assert parsed.globals.budget == 90
    assert parsed.globals.color is False


@pytest.mark.parametrize(
    ("line", "words", "name"),
    [
        ("", (), None),
        ("--help", (), None),
        ("breakpoint -h", ("breakpoint",), None),
        ("break --help", ("break",), "breakpoint add"),
        ("--help break", ("break",), "breakpoint add"),
        ("break f --frobnicate=no -h", ("break",), None),
        ("until-nothing --help", (), None),
    ],
)
def test_help_is_asked_for(ops: Registry, line: str, words: tuple, name: str | None) -> None:
    if "no" in line:
        refused(ops, line)  # what comes before --help is read first
        return
    parsed = read(ops, line)
    assert parsed.globals.help
    assert parsed.name_tokens == words
    assert parsed.op is (ops[name] if name else None)
    assert parsed.kwargs == {}


def test_help_after_a_command_belongs_to_the_program(ops: Registry) -> None:
    assert not read(ops, "start app.py -- --help").globals.help
    assert not read(ops, "start -m pytest --help").globals.help


def test_the_version_can_be_asked_for_as_everywhere(ops: Registry) -> None:
    assert read(ops, "--version").op is ops["version"]


@pytest.mark.parametrize(
    ("line", "fact", "next"),
    [
        ("brek app.py:3", "no command `brek`", "dbg break app.py:3"),
        ("breakpoint", "`breakpoint` alone is not a command", "dbg help breakpoint"),
        ("breakpoint lst", "`breakpoint` has no `lst`", "dbg breakpoint list"),
        ("watch lst --json=no", "takes no value", "dbg watch list --json=no"),
        ("frobnicate", "no command `frobnicate`", "dbg help"),
        ("'break app.py:3'", "no command", "dbg break app.py:3"),
        ("--jsn status", "the nearest is `--json`", "dbg help"),
        ("b f --cond x", "the nearest is `--condition`", "dbg b f --condition x"),
        ("b f --cond='a b'", "no option `--cond`", "dbg b f '--condition=a b'"),
        ("b f -z", "no option `-z`", "dbg help breakpoint add"),
        ("b f -tq", "no option `-q`", "dbg help breakpoint add"),
        ("next -c 3", "the nearest is `--count`", "dbg next --count 3"),
        ("bt -l 3", "no option `-l`", "dbg help backtrace"),
        ("p x -f hex", "the nearest is `--format`", "dbg p x --format hex"),
        ("b f -tz", "no option `-z`", "dbg help breakpoint add"),
        ("b f -c", "`-c` needs a value, EXPR", "dbg help breakpoint add"),
        ("b f --condition --temporary", "`--condition` needs a value", "dbg help breakpoint add"),
        ("b f --temporary=yes", "takes no value", "dbg help breakpoint add"),
        ("b f -c x -c y", "given twice", "dbg help breakpoint add"),
        ("b f g", "`g` is left over", "dbg help breakpoint add"),
        ("next 3 4", "`4` is left over", "dbg help next"),
        ("next five", "`five` is left over", "dbg help next"),
        ("b 'a b'", "`a b` is not a location", "dbg help breakpoint add"),
        ("next --count many", "takes a whole number, not `many`", "dbg help next"),
        ("p x --format hx", "the nearest is `hex`", "dbg help print"),
        ("p x --dpeth 2", "the nearest is `--depth`", "dbg p x --depth 2"),
        ("next --keep 2", "no option `--keep`.", "dbg help next"),
        ("p", "`print` needs EXPR", "dbg help print"),
        ("breakpoint remove", "needs ID", "dbg help breakpoint remove"),
        ("--budget 0 locals", "above 0", "dbg help"),
        ("locals -s", "`-s` needs a value", "dbg help"),
        ("start app.py --verbose x", "go after `--`", "dbg start app.py -- --verbose x"),
        ("start app.py -x -- y", "go after `--`", "dbg start app.py -- -x y"),
        ("start app.py --stop-on-entri", "the nearest", "dbg start app.py --stop-on-entry"),
        ("-s web start app.py -x", "`-x`", "dbg -s web start app.py -- -x"),
    ],
)
def test_a_mistake_is_answered_with_the_correct_command(
    ops: Registry, line: str, fact: str, next: str
) -> None:
    error = refused(ops, line)
    assert fact in error.message
    assert error.next == next


@pytest.mark.parametrize(
    ("line", "next"),
    [
        ("break remove 1", "dbg breakpoint remove 1"),
        ("b delete 2", "dbg breakpoint remove 2"),
        ("info variables", "dbg locals"),
        ("bt full", "dbg backtrace --locals"),
        ("tbreak app.py:3", "dbg break --temporary app.py:3"),
        ("break app.py:3 if n > 3", "dbg break app.py:3 -c 'n > 3'"),
        ("break app.py:3 --when 'n > 3'", "dbg break app.py:3 -c 'n > 3'"),
        ("log app.py:3 'n is {n}'", "dbg break app.py:3 --log 'n is {n}'"),
        ("delete 2", "dbg breakpoint remove 2"),
        ("p/x flags", "dbg print --format hex flags"),
        ("cont", "dbg continue"),
        ("b app.py:3, x > 3", "dbg break app.py:3 -c 'x > 3'"),
        ("b app.py 3", "dbg break app.py:3"),
        ("stop at app.py:3", "dbg break app.py:3"),
    ],
)
def test_commands_of_other_debuggers_are_answered_with_the_dbg_command(
    ops: Registry, line: str, next: str
) -> None:
    assert refused(ops, line).next == next


@given(st.lists(st.text(min_size=1, max_size=8), max_size=6))
def test_any_words_are_parsed_or_refused_with_a_next_step(ops: Registry, words: list[str]) -> None:
    for begin in ([], ["start"], ["print"], ["b"]):
        refusal = None
        try:
            parse([*begin, *words], ops)
        except UsageError as error:
            refusal = error
        assert refusal is None or refusal.next


def test_a_flag_that_ends_options_ends_them_after_the_next_word() -> None:
    ops = Registry()

    @ops.op("start", group="g", example="start app.py")
    async def start(
        ctx: Any,
        program: Annotated[str, Arg("the program")],
        args: Annotated[tuple[str, ...], Arg("its words", rest=True)] = (),
        *,
        module: Annotated[bool, Flag("a module", short="-m", ends_options=True)] = False,
        entry: Annotated[bool, Flag("stop at once", short="-e")] = False,
    ) -> Answer:
        """Start."""

    for line in ("start -e -m pytest tests -x -e", "start -em pytest -- tests -x -e"):
        assert read(ops, line).kwargs == {
            "program": "pytest",
            "args": ("tests", "-x", "-e"),
            "module": True,
            "entry": True,
        }
    assert read(ops, "start -m -e pytest -e").kwargs["args"] == ("-e",)


@given(st.lists(st.text(max_size=8), max_size=6))
def test_words_after_the_separator_reach_the_program_as_they_are(
    ops: Registry, words: list[str]
) -> None:
    parsed = parse(["start", "app.py", "--", *words], ops)
    assert parsed.kwargs.get("args", ()) == tuple(words)
    assert parse(["start", "-m", "mod", "--", *words], ops).kwargs.get("args", ()) == tuple(words)


@pytest.mark.parametrize(
    ("line", "kwargs"),
    [
        ("join --wait-for", {"wait_for": ""}),
        ("join --wait-for app", {"wait_for": "app"}),
        ("join --wait-for=app", {"wait_for": "app"}),
        ("join --wait-for --now", {"wait_for": "", "now": True}),
        ("join --wait-for -n", {"wait_for": "", "now": True}),
        ("join --wait-for -- app", {"wait_for": "", "where": "app"}),
    ],
)
def test_an_option_that_can_stand_alone_takes_a_value_where_one_follows(line, kwargs) -> None:
    ops = Registry()

    @ops.op("join", group="g", example="join app")
    async def join(
        ctx: Any,
        where: Annotated[str | None, Arg("a place")] = None,
        *,
        wait_for: Annotated[str | None, Arg("wait for it", alone="")] = None,
        now: Annotated[bool, Flag("at once", short="-n")] = False,
    ) -> Answer:
        """Join."""

    assert read(ops, line).kwargs == kwargs
    schema = input_schema(ops.by_id("join"))["properties"]["wait_for"]
    assert schema["type"] == ["string", "boolean"]
    assert from_jsonable(ops.by_id("join"), {"wait_for": True}) == {"wait_for": ""}
