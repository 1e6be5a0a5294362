"""Schemas come from the types; data in and out keeps to them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.errors import UsageError
from freezeframe.model import answers, setup_answers
from freezeframe.model.locations import Location
from freezeframe.model.stops import Exit, Frame, Stop, StopReason, Thread
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.ops._json_schema import from_jsonable, input_schema, output_schema, to_jsonable
from freezeframe.ops._registry import Arg, OpSpec, Registry


class Shade(StrEnum):
    DARK = "dark"
    LIGHT = "light"


def _spec() -> OpSpec:
    ops = Registry()

    @ops.op("paint", group="g", example="paint a.py:3")
    async def paint(
        ctx: Any,
        where: Annotated[Location, Arg("a place")],
        ids: Annotated[tuple[int, ...], Arg("numbers")] = (),
        *,
        shade: Annotated[Shade, Arg("how dark")] = Shade.DARK,
        mode: Annotated[Literal["a", "b"] | None, Arg("mode")] = None,
        timeout: Annotated[float | None, Arg("seconds")] = None,
        wet: Annotated[bool, Arg("wet")] = False,
    ) -> answers.Text:
        """Paint."""
        return answers.Text("")

    return ops["paint"]


SPEC = _spec()


def test_arguments_are_described_and_read() -> None:
    schema = input_schema(SPEC)
    jsonschema.Draft202012Validator.check_schema(schema)
    data = {"where": "a.py:3", "ids": [1, 2], "shade": "light", "mode": "b", "timeout": 2}
    jsonschema.validate(data, schema)
    assert from_jsonable(SPEC, data) == {
        "where": Location(file="a.py", line=3),
        "ids": (1, 2),
        "shade": Shade.LIGHT,
        "mode": "b",
        "timeout": 2.0,
    }


def test_null_means_not_given() -> None:
    assert from_jsonable(SPEC, {"where": "f", "mode": None}) == {"where": Location(function="f")}


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        ({}, "needs `args.where`"),
        ({"where": "f", "wher": 1}, "takes no `args.wher`; the nearest is `where`"),
        ({"where": [3]}, "`args.where` takes a string, not [3]"),
        ({"where": "a b"}, "`args.where` takes a location"),
        ({"where": "f", "ids": True}, "`args.ids` takes an array"),
        ({"where": "f", "ids": [1, 2, "x"]}, "`args.ids[2]` takes a whole number, not 'x'"),
        ({"where": "f", "ids": [1.5]}, "`args.ids[0]` takes a whole number"),
        ({"where": "f", "ids": [True]}, "`args.ids[0]` takes a whole number"),
        ({"where": "f", "shade": "grey"}, "`args.shade` takes one of dark, light"),
        ({"where": "f", "wet": 2}, "`args.wet` takes true or false"),
        ({"where": "f", "timeout": "x" * 500}, "`args.timeout` takes a number"),
    ],
)
def test_what_is_wrong_is_named_with_its_path(data: dict[str, Any], fact: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_jsonable(SPEC, data)
    assert fact in caught.value.message
    assert len(caught.value.message) < 200
    with pytest.raises(jsonschema.ValidationError):
        # A location is any string to the schema; the rest it refuses as well.
        jsonschema.validate(data | ({"where": 3} if data.get("where") == "a b" else {}),
                            input_schema(SPEC))  # fmt: skip


_ANSWERS = [
    answers.StopReport(
        session="app",
        state="stopped",
        stop=Stop(
            3, StopReason.BREAKPOINT, Thread(1, "Main"), Frame(0, "f", "/a.py", 3), breakpoints=(2,)
        ),
        scopes=(
            Scope("Locals", ScopeKind.LOCALS, (Value("x", "[…]", children=(Value("0", "None"),)),)),
        ),
        output=answers.Output((answers.Chunk("stdout", "hi\n"),), end=3),
    ),
    answers.StopReport(session="app", state="terminated", exit=Exit(code=0)),
    answers.Memory("0x10", b"\x00\xff"),
    answers.Backtrace((answers.Stack(Thread(1, "M"), (), more=None, values={0: ()}),)),
    answers.Evaluated("x", Value("x", "None", "NoneType"), range=(0, 10)),
    setup_answers.Settings("/c", False, (setup_answers.Setting("a.b", 3, {"x": [1]}, "why"),)),
    answers.Batch((answers.BatchItem("locals", True, answer={"a": 1}),), ("next",)),
]


@pytest.mark.parametrize("answer", _ANSWERS, ids=lambda answer: type(answer).__name__)
def test_an_answer_keeps_to_the_schema_of_its_type(answer: Any) -> None:
    schema = output_schema(type(answer))
    jsonschema.Draft202012Validator.check_schema(schema)
    data = to_jsonable(answer)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    jsonschema.validate(data, schema)


def test_every_answer_of_the_model_has_a_schema() -> None:
    kinds = [kind for kind in vars(answers).values() if isinstance(kind, type)]
    described = [output_schema(kind) for kind in kinds if hasattr(kind, "__dataclass_fields__")]
    assert len(described) > 30
    for schema in described:
        jsonschema.Draft202012Validator.check_schema(schema)


def test_what_holds_its_default_is_left_out() -> None:
    assert to_jsonable(Value("x", "1")) == {"name": "x", "text": "1"}
    assert to_jsonable(Exit(code=0)) == {"code": 0}


def test_bytes_are_base64_and_keys_are_strings() -> None:
    @dataclass(frozen=True)
    class Odd:
        data: bytes
        table: dict[int, str] = field(default_factory=dict)

    assert to_jsonable(Odd(b"\x00", {1: "a"})) == {"data": "AA==", "table": {"1": "a"}}


def test_a_union_of_answers_is_any_of_them() -> None:
    schema = output_schema(answers.Text | setup_answers.Checkup)
    jsonschema.validate({"text": "x"}, schema)
    jsonschema.validate({"checks": []}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"frames": []}, schema)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_a_debugger_advertises_becomes_json(value: Any) -> None:
    tool = answers.Tool("d", None, "dap", "why", advertised={"x": value})
    json.dumps(to_jsonable(tool), allow_nan=False)
