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


def test_every_kind_of_message_of_an_adapter_has_its_type() -> None:
    definitions = dap_schema.schema()["definitions"]
    for name in definitions:
        body = definitions[name].get("allOf", [{}])[-1].get("properties", {}).get("body", {})
        if name.endswith(("Response", "Event")) and body.get("properties"):
            assert name == "ErrorResponse" or hasattr(types, f"{name}Body")
    assert types.Capabilities
    assert types.RunInTerminalRequestArguments
    assert types.StartDebuggingRequestArguments


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
