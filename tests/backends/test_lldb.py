"""Parsing of LLDB texts."""

from __future__ import annotations

from pathlib import Path

import pytest

from freezeframe.backends import lldb
from freezeframe.backends.backend import RawValue


@pytest.mark.parametrize(
    ("text", "brief"),
    [
        (
            "error: <user expression 5>:1:1: use of undeclared identifier 'x'\n    1 | x\n",
            "use of undeclared identifier 'x'",
        ),
        (
            "error: Couldn't dematerialize a result variable: couldn't read its memory",
            "its memory cannot be read: a pointer in it leads nowhere",
        ),
        ("", "no reason was given"),
        (
            "         ˄\n   │  ╰─ error: use of 'b'\n   ╰─ error: use of 'a'\n",
            "use of 'b'; use of 'a'",
        ),
        (
            "error: no member named 'val' in 'alloc::rc::Rc<app::Node, alloc::alloc::Global>'",
            "LLDB does not look behind Rc by itself: write .value after its name",
        ),
        (
            "error: no viable overloaded operator[] for type 'std::hash::HashMap<i32>'",
            "LLDB knows no methods and no keys of Rust's HashMap: print the HashMap itself",
        ),
        (
            "error: called object type 'unsigned long' is not a function or function pointer",
            "unsigned long cannot be called: write it without the parentheses",
        ),
    ],
)
def test_the_error_of_an_expression_is_brief(text, brief):
    assert lldb.brief_error(text) == brief


def test_lldb_does_not_use_the_python_of_an_active_environment():
    env = {"PATH": "/venv/bin:/bin", "VIRTUAL_ENV": "/venv", "PYTHONHOME": "/venv", "LANG": "C"}

    own = lldb.surroundings(env, "/opt/llvm/bin/lldb")

    assert own == {"PATH": "/opt/llvm/bin:/usr/bin:/venv/bin:/bin", "LANG": "C"}


@pytest.mark.parametrize(
    ("kind", "text", "count"),
    [
        ("int[40]", "{0, 0, ...}", 40),
        ("int[3][20]", "int[3][20]", 3),
        ("char[8]", '"text"', None),
        ("int (*)[4]", "0x7ffc0010", None),
    ],
)
def test_an_array_has_as_many_elements_as_its_type_says(kind, text, count):
    assert lldb.enriched(RawValue("it", text, kind, ref=5)).count == count


def test_a_reference_to_an_array_is_expanded():
    assert lldb.enriched(RawValue("row", "0x7ffc0010", "int (&)[4]", ref=5)).opaque


def test_no_command_of_ours_changes_whether_lldb_waits_for_the_program():
    # A breakpoint's callback on another thread saves and restores the same setting of LLDB: the
    # two can leave it changed, and the next `continue` is answered when the program stops.
    agents = sorted(Path(lldb.__file__).parent.glob("*_agent.py"))
    adding = [
        line for agent in agents for line in agent.read_text().splitlines() if "script add" in line
    ]
    assert adding
    assert [line for line in adding if "script add -s current -f" not in line] == []
