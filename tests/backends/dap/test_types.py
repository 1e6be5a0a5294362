from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

import dap_schema
from freezeframe.backends.dap import types

TOOL = Path(__file__).parents[3] / "tools" / "generate_dap_types.py"


def test_the_generated_types_are_those_of_the_installed_schema() -> None:
    spec = importlib.util.spec_from_file_location("generate_dap_types", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = tool
    spec.loader.exec_module(tool)
    text = tool.generate(dap_schema.schema())
    assert Path(types.__file__).read_text(encoding="utf-8") == text, "run make regen"
    assert tool.generate(dap_schema.schema()) == text


@pytest.mark.parametrize("command", ["startDebugging", "runInTerminal", "setDataBreakpoints"])
def test_every_request_of_the_protocol_is_in_the_map(command: str) -> None:
    assert types.ARGUMENTS[command] is not None
    assert len(types.ARGUMENTS) > 40
    assert types.EVENTS["stopped"] is types.StoppedEventBody
    assert types.RESPONSES["initialize"] is types.Capabilities


def test_the_schema_accepts_what_is_right_and_names_what_is_wrong() -> None:
    good = {"seq": 1, "type": "request", "command": "scopes", "arguments": {"frameId": 1}}
    dap_schema.validate(good)
    dap_schema.validate({"seq": 1, "type": "request", "command": "custom/thing", "arguments": [1]})
    for bad, word in (
        ({**good, "arguments": {"frameId": "1"}}, "arguments/frameId"),
        ({**good, "arguments": {}}, "frameId"),
        ({"type": "request", "command": "scopes", "arguments": {"frameId": 1}}, "seq"),
    ):
        with pytest.raises(AssertionError, match=word):
            dap_schema.validate(bad)
