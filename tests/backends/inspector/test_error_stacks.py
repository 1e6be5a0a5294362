"""Stacks of errors have source positions, whether V8 or the program has mapped them."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from freezeframe.backends.inspector.error_stacks import read_stack
from freezeframe.backends.inspector.scripts import Scripts


async def _nothing(method: str, **params: Any) -> dict[str, Any]:
    raise AssertionError(f"{method} was asked for")


@pytest.mark.parametrize(
    ("location", "whose"), [("/p/lib.js:4:1", "V8's"), ("/p/lib.js:2:1", "a test runner's")]
)
def test_a_stack_is_mapped_once_where_a_script_has_its_sources_name(location, whose):
    source_map = {"version": 3, "sources": ["lib.js"], "mappings": ";;AAAA;AACA"}
    data = base64.b64encode(json.dumps(source_map).encode()).decode()
    scripts = Scripts(_nothing, None)
    scripts.parsed(
        {
            "scriptId": "7",
            "url": "file:///p/lib.js",
            "sourceMapURL": f"data:application/json;base64,{data}",
        }
    )

    (line,) = asyncio.run(read_stack(f"Error: no\n    at two ({location})", scripts))

    assert (line.path, line.line) == ("/p/lib.js", 2), f"the stack was {whose}"
