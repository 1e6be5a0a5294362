"""One entry put into files of other people: what they wrote stays as it is."""

from __future__ import annotations

import json
import tomllib
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.ops._config_edit import UnreadableConfig, put_json, put_toml, read_json, read_toml

ENTRY = {"command": "dbg", "args": ["mcp"]}
PATH = ("mcpServers", "freezeframe")


def put(text: str) -> str:
    return put_json(text, PATH, ENTRY)


def test_comments_commas_order_and_indentation_stay():
    before = dedent(
        """\
        // mine
        {
        \t"theme": "dark", // at night
        \t/* servers */
        \t"mcpServers": {
        \t\t"zoo": {"command": "zoo",}, // first
        \t\t// and no more
        \t},
        \t"after": [1, 2,],
        }
        """
    )

    after = put(before)

    added = '\t\t"freezeframe": {\n\t\t\t"command": "dbg",\n\t\t\t"args": ["mcp"]\n\t\t},\n'
    assert after == before.replace("// and no more\n", f"// and no more\n{added}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1}', '{"a": 1, "m": {"n": 2}}'),
        ('{"a": 1,}', '{"a": 1, "m": {"n": 2},}'),
        ('{"m": {"n": 1, "z": 3}}', '{"m": {"n": 2, "z": 3}}'),
        ("{}", '{\n  "m": {\n    "n": 2\n  }\n}'),
        ("", '{\n  "m": {\n    "n": 2\n  }\n}\n'),
        ("// why\n", '// why\n{\n  "m": {\n    "n": 2\n  }\n}\n'),
        ('{\n    "a": 1 // one\n}', '{\n    "a": 1, // one\n    "m": {\n        "n": 2\n    }\n}'),
        ('{\r\n  "m": {}\r\n}\r\n', '{\r\n  "m": {\r\n    "n": 2\r\n  }\r\n}\r\n'),
        ('\ufeff{"a": 1}', '\ufeff{"a": 1, "m": {"n": 2}}'),
        ('{"m": {}, "m": {"y": 1}}', '{"m": {}, "m": {"y": 1, "n": 2}}'),
    ],
)
def test_a_member_is_put_as_its_neighbours_stand(before, after):
    assert put_json(before, ("m", "n"), 2) == after
    assert put_json(after, ("m", "n"), 2) == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{\n "a": 1\n "b": 2}', "line 3: a comma is missing"),
        ('{"a":}', "line 1: a value is missing"),
        ("{a: 1}", "the name of a member is missing"),
        ('{"a" 1}', "a colon is missing"),
        ('{"a": "b}', "a string does not end"),
        ('{"a": 1}}', "there is more text after the end"),
        ('{"a": 1', "does not begin a value|the name of a member|a comma"),
        ("[1]", "the file is not an object"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ("/* {", "does not begin a value"),
        ("[" * 500, "nested too deeply"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_place(text, why):
    with pytest.raises(UnreadableConfig, match=why):
        put(text)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _json, max_size=4), st.sampled_from([None, 1, 4, "\t"]))
def test_any_json_keeps_what_it_said(data, indent):
    data.pop("mcpServers", None)
    text = json.dumps(data, indent=indent, ensure_ascii=False)

    assert read_json(text) == data
    assert json.loads(put(text)) == {**data, "mcpServers": {"freezeframe": ENTRY}}


def test_a_table_is_appended_to_toml():
    before = 'model = "x"  # mine\n\n[mcp_servers.zoo]\ncommand = "zoo"\n'

    after = put_toml(before, ("mcp_servers", "freezeframe"), ENTRY)

    assert after.startswith(before)
    assert tomllib.loads(after)["mcp_servers"]["freezeframe"] == ENTRY


def test_a_table_of_toml_is_changed_in_place():
    before = dedent(
        """\
        # top
        [mcp_servers.freezeframe]
        command = "gone" # was here
        enabled = false

        [mcp_servers.freezeframe.env]
        KEY = "1"
        """
    )

    after = put_toml(before, ("mcp_servers", "freezeframe"), ENTRY)

    assert read_toml(after)["mcp_servers"]["freezeframe"] == {
        **ENTRY,
        "enabled": False,
        "env": {"KEY": "1"},
    }
    assert after.startswith("# top\n[mcp_servers.freezeframe]\n")


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = { zoo = { command = 'zoo' } }\n",
        "[mcp_servers]\nfreezeframe = { command = 'x' }\n",
        "[mcp_servers.freezeframe]\nargs = [\n  'a',\n]\n",
        "[[mcp_servers]]\na = 1\n",
        "a = \n",
    ],
)
def test_toml_that_cannot_be_changed_safely_is_refused(text):
    with pytest.raises(UnreadableConfig):
        put_toml(text, ("mcp_servers", "freezeframe"), ENTRY)
