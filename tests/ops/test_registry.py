"""Operations are declared once; what is wrong with a declaration shows at import."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest

from freezeframe.errors import UsageError
from freezeframe.model.locations import Location
from freezeframe.ops._registry import OPS, Arg, Effect, Flag, Misdeclared, Needs, Registry


@dataclass(frozen=True)
class Answer:
    text: str = ""


class Number(Enum):
    ONE = 1


def misdeclared(func: Any, **declaration: Any) -> str:
    """Return why *func* is refused as an operation."""
    defaults = {"group": "g", "example": "thing"}
    with pytest.raises(Misdeclared) as caught:
        Registry().op("thing do", **(defaults | declaration))(func)
    assert str(caught.value).startswith("operation `thing do`: ")
    return str(caught.value)


async def good(ctx: Any, what: Annotated[str, Arg("what")] = "") -> Answer:
    """Do a thing.

    Then say so.
    """
    return Answer(what)


def test_a_declaration_becomes_a_spec_and_leaves_the_function_alone() -> None:
    ops = Registry()
    declared = ops.op(
        "thing do",
        aliases=("do",),
        group="things",
        effect=Effect.WRITES,
        needs=Needs.STOPPED,
        feature="assignment",
        control=True,
        example="thing do x",
        examples=("do y",),
    )(good)
    spec = ops["thing do"]
    assert declared is good
    assert (spec.id, spec.summary, spec.description) == ("thing_do", "Do a thing.", "Then say so.")
    assert (spec.effect, spec.needs, spec.feature) == (Effect.WRITES, Needs.STOPPED, "assignment")
    assert spec.control
    assert spec.result is Answer
    assert spec.func is good
    assert spec.examples == ("thing do x", "do y")
    assert [param.name for param in spec.params] == ["what"]
    assert ops.by_id("thing_do") is spec
    assert list(ops) == [spec]


def test_a_forgotten_docstring_is_refused() -> None:
    async def bare(ctx: Any) -> Answer:
        return Answer()

    assert "no docstring" in misdeclared(bare)


def test_a_forgotten_example_is_refused() -> None:
    assert "example" in misdeclared(good, example=" ")
    assert "example" in misdeclared(good, example="dbg thing do")
    with pytest.raises(TypeError):
        Registry().op("thing", group="g")  # type: ignore[call-arg]


def test_a_result_without_a_schema_is_refused() -> None:
    async def nothing(ctx: Any):  # type: ignore[no-untyped-def]
        """Do."""

    async def text(ctx: Any) -> str:
        """Do."""
        return ""

    assert "no return annotation" in misdeclared(nothing)
    assert "not a dataclass" in misdeclared(text)


def test_a_plain_function_and_a_missing_context_are_refused() -> None:
    def plain(ctx: Any) -> Answer:
        """Do."""
        return Answer()

    async def alone(session: Any) -> Answer:
        """Do."""
        return Answer()

    assert "coroutine" in misdeclared(plain)
    assert "`ctx`" in misdeclared(alone)


@pytest.mark.parametrize(
    ("annotation", "default", "why"),
    [
        (str, "", "no Annotated"),
        (Annotated[str, "help"], "", "not exactly one Arg"),
        (Annotated[dict[str, str], Arg("x")], {}, "no front end can spell"),
        (Annotated[int | str, Arg("x")], 1, "union"),
        (Annotated[Number, Arg("x")], Number.ONE, "not strings"),
        (Annotated[Literal[1, 2], Arg("x")], 1, "not strings"),
        (Annotated[list[list[str]], Arg("x")], [], "cannot be typed"),
        (Annotated[str, Arg("")], "", "no help"),
        (Annotated[str, Arg("x", short="c")], "", "short form"),
        (Annotated[str, Arg("x", short="-1")], "", "short form"),
        (Annotated[str, Flag("x")], "", "not a bool"),
        (Annotated[int, Arg("x", greedy=True)], 1, "greedy"),
        (Annotated[str, Arg("x", rest=True)], "", "rest"),
        (Annotated[str, Arg("x", complete="moon")], "", "complete"),
        (Annotated[str, Arg("x")], None, "default is None"),
        (Annotated[bool, Arg("x", name="json")], False, "option of every command"),
        (Annotated[str, Arg("x", short="-s")], "", "option of every command"),
    ],
)
def test_an_argument_that_no_front_end_could_take_is_refused(
    annotation: Any, default: Any, why: str
) -> None:
    async def strange(ctx: Any, *, what=default) -> Answer:  # type: ignore[no-untyped-def]
        """Do."""
        return Answer()

    strange.__annotations__["what"] = annotation
    message = misdeclared(strange)
    assert why in message


def test_ambiguous_arguments_are_refused() -> None:
    async def after_all(
        ctx: Any, many: Annotated[list[str], Arg("x")], one: Annotated[str, Arg("y")]
    ) -> Answer:
        """Do."""
        return Answer()

    async def two_shorts(
        ctx: Any,
        *,
        one: Annotated[str, Arg("x", short="-o")] = "",
        other: Annotated[str, Arg("y", short="-o")] = "",
    ) -> Answer:
        """Do."""
        return Answer()

    async def positional_flag(ctx: Any, on: Annotated[bool, Arg("x")] = False) -> Answer:
        """Do."""
        return Answer()

    assert "takes all arguments" in misdeclared(after_all)
    assert "two parameters" in misdeclared(two_shorts)
    assert "positional" in misdeclared(positional_flag)


def test_a_name_or_alias_that_is_taken_is_refused() -> None:
    ops = Registry()
    ops.op("thing", aliases=("t",), group="g", example="thing")(good)
    for name, aliases in (("thing", ()), ("other", ("t",)), ("t", ())):
        with pytest.raises(Misdeclared, match=f"operation `{name}`"):
            ops.op(name, aliases=aliases, group="g", example="x")(good)
    assert len(ops) == 1


def test_a_name_that_looks_like_an_option_is_refused() -> None:
    for name, aliases in (("--thing", ()), ("thing", ("--json",)), ("thing", ("do --it",))):
        with pytest.raises(Misdeclared):
            Registry().op(name, aliases=aliases, group="g", example="x")(good)


def test_the_longest_name_is_found() -> None:
    ops = Registry()
    for name in ("watch", "watch list", "thread"):
        ops.op(name, group="g", example=name)(good)
    assert ops.lookup(["watch", "x"]) == (ops["watch"], 1)
    assert ops.lookup(["watch", "list"]) == (ops["watch list"], 2)
    assert ops.lookup(["thread", "list", "x"]) == (ops["thread"], 1)


def test_an_alias_in_capitals_needs_words_after_it() -> None:
    ops = Registry()
    ops.op("start", aliases=("run PROGRAM",), group="g", example="start")(good)
    ops.op("continue", aliases=("run",), group="g", example="continue")(good)
    assert ops.lookup(["run"]) == (ops["continue"], 1)
    assert ops.lookup(["run", "x"]) == (ops["start"], 1)


def test_an_unknown_operation_is_refused_with_the_nearest() -> None:
    ops = Registry()
    ops.op("breakpoint add", group="g", example="x")(good)
    with pytest.raises(UsageError, match="nearest is `breakpoint_add`"):
        ops.by_id("breakpont_add")
    with pytest.raises(UsageError) as caught:
        ops.lookup(["breakpint", "add", "f"])
    assert caught.value.next == "dbg breakpoint add f"


def test_spellings_of_other_debuggers_lead_to_whole_commands() -> None:
    suggest = OPS.suggest
    assert suggest("i b") == "breakpoint list"
    assert suggest("total = a + 1") == "set total 'a + 1'"
    assert suggest("!total = 1") == "eval 'total = 1'"
    assert suggest("stop app") == "stop -s app"


def test_a_suggestion_never_names_an_operation_that_is_not_there() -> None:
    assert Registry().suggest("info variables") is None
    ops = Registry()
    ops.op("locals", group="g", example="locals")(good)
    assert ops.suggest("info variables") == "locals"
    assert ops.suggest("loclas") == "locals"
    assert ops.suggest("backtrace") is None


def test_locations_and_optional_types_are_read_from_strings() -> None:
    async def typed(
        ctx: Any,
        where: Annotated[Location | None, Arg("a place")] = None,
        *,
        numbers: Annotated[tuple[int, ...], Arg("numbers")] = (),
    ) -> Answer | None:
        """Do."""
        return None

    assert "not a dataclass" in misdeclared(typed)
    typed.__annotations__["return"] = "Answer"
    ops = Registry()
    ops.op("typed", group="g", example="typed")(typed)
    where, numbers = ops["typed"].params
    assert where.type.base is Location
    assert where.type.optional
    assert numbers.type.container is tuple
    assert numbers.type.base is int


_LOOK_UP = """\
import sys
from freezeframe.ops._registry import OPS
before = [name for name in sys.modules if name.startswith("freezeframe.ops.")]
spec = OPS.by_id("hit_trend") if sys.argv[1] == "id" else OPS.lookup(["status"])[0]
print(spec.name, *(name for name in sys.modules if name.startswith("freezeframe.ops.")
                   and "._" not in name and name not in before))
"""


@pytest.mark.parametrize(
    ("how", "found"),
    [("name", "status freezeframe.ops.sessions"), ("id", "hit-trend freezeframe.ops.")],
)
def test_a_module_of_operations_is_imported_when_one_of_them_is_looked_up(how, found):
    """Importing all would be a third of the time of the first command."""
    command = [sys.executable, "-c", _LOOK_UP, how]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    assert ran.stdout.startswith(found)
    assert "freezeframe.ops.launch" not in ran.stdout


_HANDLE = """\
import sys
import freezeframe.frontends.request_handler
print(*sorted({".".join(name.split(".")[:2]) for name in sys.modules}))
print(*(name for name in sys.modules if "python.tracing" in name or "backends.commands" in name))
"""


def test_a_daemon_starts_without_the_code_that_answers_questions():
    """Traces, runners and command lines would be 40 % of the time of the first command."""
    command = [sys.executable, "-c", _HANDLE]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    packages, late = ran.stdout.splitlines()

    assert "freezeframe.ops" in packages
    assert "freezeframe.questions" not in packages
    assert "freezeframe.runners" not in packages
    assert late == ""
