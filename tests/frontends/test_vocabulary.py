"""Promises about the real table: every operation that exists."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import jsonschema
import pytest

import freezeframe.frontends.cli_ops
from freezeframe.errors import UsageError
from freezeframe.frontends import help
from freezeframe.frontends.completion import complete
from freezeframe.frontends.parser import parse
from freezeframe.frontends.reference import reference
from freezeframe.ops._json_schema import input_schema, output_schema
from freezeframe.ops._registry import OPS, OpSpec
from freezeframe.ops._suggestions import guesses

ROOT = Path(__file__).parent.parent.parent
assert freezeframe.frontends.cli_ops

every_operation = pytest.mark.parametrize("spec", list(OPS), ids=lambda spec: spec.id)


@every_operation
def test_every_example_parses_to_its_own_operation(spec: OpSpec) -> None:
    for example in spec.examples:
        assert parse(shlex.split(example)).op is spec, example


@every_operation
def test_every_spelling_leads_to_its_operation(spec: OpSpec) -> None:
    for spelling in (spec.name, *spec.aliases):
        assert parse([*spelling.split(), "--help"]).op is not None, spelling
        assert OPS.lookup(spelling.split())[0] is spec


@every_operation
def test_every_operation_has_valid_schemas(spec: OpSpec) -> None:
    jsonschema.Draft202012Validator.check_schema(input_schema(spec))
    jsonschema.Draft202012Validator.check_schema(output_schema(spec.result))


@every_operation
def test_every_page_is_short_and_fits(spec: OpSpec) -> None:
    lines = help.command_page(spec).splitlines()
    assert len(lines) <= 50
    assert max(len(line) for line in lines) <= help.WIDTH
    assert spec.summary.endswith(".")


def test_the_first_page_is_one_screen() -> None:
    lines = help.overview().splitlines()
    assert len(lines) <= 40
    assert max(len(line) for line in lines) <= 100
    assert not any(line.endswith("…") for line in lines), "a summary is too long"


@pytest.mark.parametrize("spelling", help.COMMON)
def test_the_first_page_names_only_commands_that_exist(spelling: str) -> None:
    assert OPS.lookup([spelling])


@pytest.mark.parametrize(("typed", "meant"), guesses(), ids=lambda text: text)
def test_every_guess_leads_to_a_command_that_parses(typed: str, meant: str) -> None:
    try:
        parse(shlex.split(meant))
    except UsageError as wrong:
        pytest.fail(f"`{typed}` is answered with `{meant}`, which is refused: {wrong}")


def test_the_command_reference_is_not_stale() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import regen
    finally:
        sys.path.remove(str(ROOT / "tools"))
    assert regen.stale() == [], "run `make regen`"


def test_every_link_of_the_reference_has_its_heading() -> None:
    text = reference()
    headings = [line.lstrip("# ").lower() for line in text.splitlines() if line.startswith("#")]
    anchors = {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}
    assert len(anchors) == len(headings), "two headings with one anchor"
    assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors


def test_completion_names_every_command() -> None:
    offered = {line.split("\t")[0] for line in complete([""])}
    assert {spec.name.split()[0] for spec in OPS if not spec.hidden} <= offered
