"""docs/WIRE.md says what is sent: the column of one debugger is recorded again."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from freezeframe.frontends import cli_ops
from freezeframe.ops._registry import OPS

assert cli_ops  # the whole vocabulary

_FILE = Path(__file__).parent.parent / "tools" / "wire_page.py"
_SPEC = importlib.util.spec_from_file_location("wire_page", _FILE)
wire_page = importlib.util.module_from_spec(_SPEC)
sys.modules["wire_page"] = wire_page  # its dataclass looks itself up there
_SPEC.loader.exec_module(wire_page)


def test_the_page_has_a_row_for_every_step_and_every_step_is_an_operation():
    names = {spec.name for spec in OPS} | {alias for spec in OPS for alias in spec.aliases}

    for column in wire_page.read_page(wire_page.PAGE.read_text()).values():
        assert list(column) == [operation for operation, _ in wire_page.STEPS]
    assert {operation for operation, _ in wire_page.STEPS} <= names


def test_what_is_sent_is_what_the_page_says():
    debugger = wire_page.DEBUGGERS[0]
    written = wire_page.read_page(wire_page.PAGE.read_text())[debugger.name]

    recorded = wire_page.column(debugger)

    # Requests that are made at the same time come in any order.
    assert {name: set(cell.split()) for name, cell in recorded.items()} == {
        name: set(cell.split()) for name, cell in written.items()
    }, "python tools/wire_page.py writes it"
