"""Source maps: positions in both directions, sections, roots, and invalid maps."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.inspector import sourcemaps
from freezeframe.backends.inspector.sourcemaps import BadMap, Origin, SourceMap, source_path

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def number(value: int) -> str:
    """A number as maps write it: base 64, variable length."""
    rest = (-value << 1 | 1) if value < 0 else value << 1
    text = ""
    while True:
        digit, rest = rest & 31, rest >> 5
        text += LETTERS[digit | (32 if rest else 0)]
        if not rest:
            return text


def mappings(rows: list[list[tuple[int, int, int, int]]]) -> str:
    """Encode segments: for each generated line its column, source, line and column there."""
    source = line = column = 0
    lines = []
    for row in rows:
        generated, fields = 0, []
        for segment in row:
            parts = [segment[0] - generated]
            generated = segment[0]
            parts += [segment[1] - source, segment[2] - line, segment[3] - column]
            source, line, column = segment[1:]
            fields.append("".join(map(number, parts)))
        lines.append(",".join(fields))
    return ";".join(lines)


def a_map(rows: list[list[tuple[int, int, int, int]]], **more: object) -> dict[str, object]:
    return {"version": 3, "sources": ["a.ts", "b.ts"], "mappings": mappings(rows), **more}


SEGMENTS = st.lists(
    st.lists(
        st.tuples(st.integers(0, 500), st.integers(0, 1), st.integers(0, 900), st.integers(0, 200)),
        max_size=8,
        unique_by=lambda segment: segment[0],
    ).map(sorted),
    max_size=12,
)


@given(SEGMENTS)
def test_every_generated_position_maps_to_its_source(rows):
    found = SourceMap(a_map(rows), "/p")

    for line, row in enumerate(rows):
        for column, source, there, where in row:
            assert found.origin(line, column) == Origin(f"/p/{'ab'[source]}.ts", there, where)


@given(SEGMENTS)
def test_a_source_line_maps_to_its_first_generated_position(rows):
    found = SourceMap(a_map(rows), "/p")

    for index, name in enumerate(("/p/a.ts", "/p/b.ts")):
        places: dict[int, tuple[int, int]] = {}
        for line, row in enumerate(rows):
            for column, source, there, _ in row:
                if source == index:
                    places.setdefault(there, (line, column))
        for there, place in places.items():
            assert found.generated(name, there) == (*place, there)


def test_a_line_without_code_maps_to_the_next_line_with_code():
    found = SourceMap(a_map([[(0, 0, 4, 0)], [(0, 0, 9, 2)]]), "/p")

    assert found.generated("/p/a.ts", 5) == (1, 0, 9)
    assert found.generated("/p/a.ts", 10) is None
    assert found.generated("/p/none.ts", 1) is None


def test_a_position_between_segments_belongs_to_the_first():
    text = mappings([[(4, 0, 1, 0), (10, 0, 2, 0)]]) + "," + number(5)
    found = SourceMap({"version": 3, "sources": ["a.ts"], "mappings": text}, "/p")

    assert found.origin(0, 7) == Origin("/p/a.ts", 1, 0)
    assert found.origin(0, 12) == Origin("/p/a.ts", 2, 0)
    assert found.origin(0, 16) is None
    assert found.origin(3, 0) is None


def test_an_indexed_map_is_read_as_one():
    one = {"version": 3, "sources": ["one.ts"], "mappings": mappings([[(0, 0, 3, 1)]])}
    two = {
        "version": 3,
        "sources": ["two.ts"],
        "mappings": mappings([[(0, 0, 5, 0)], [(2, 0, 6, 0)]]),
    }
    sections = [
        {"offset": {"line": 0, "column": 0}, "map": one},
        {"offset": {"line": 10, "column": 20}, "map": two},
    ]
    found = SourceMap({"version": 3, "sections": sections}, "/p")

    assert found.origin(0, 0) == Origin("/p/one.ts", 3, 1)
    assert found.origin(10, 20) == Origin("/p/two.ts", 5, 0)
    assert found.origin(11, 2) == Origin("/p/two.ts", 6, 0)
    assert found.generated("/p/two.ts", 6) == (11, 2, 6)


@pytest.mark.parametrize(
    ("name", "root", "expected"),
    [
        ("../src/a.ts", "", "/p/src/a.ts"),
        ("a.ts", "../src", "/p/src/a.ts"),
        ("a.ts", "/abs/src/", "/abs/src/a.ts"),
        ("/abs/a.ts", "ignored", "/abs/a.ts"),
        ("file:///abs/a%20b.ts", "", "/abs/a b.ts"),
        ("a.ts", "file:///abs", "/abs/a.ts"),
        ("webpack://app/./src/a.ts", "", "/p/app/src/a.ts"),
        ("https://host/a.ts", "", "https://host/a.ts"),
    ],
)
def test_sources_are_relative_to_the_map(name, root, expected):
    assert source_path(name, root, "/p/dist", "/p") == expected


def test_a_bundler_s_name_of_the_project_is_left_out_where_the_file_is_without_it(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.ts").write_text("")

    found = source_path("webpack://app/./src/a.ts", "", "/elsewhere", str(tmp_path))

    assert found == str(tmp_path / "src" / "a.ts")


def test_a_map_is_found_in_the_script_or_next_to_it(tmp_path: Path):
    data = a_map([[(0, 0, 0, 0)]], sourcesContent=["let a", None])
    text = json.dumps(data)
    (tmp_path / "x.js.map").write_text(")]}'\n" + text)
    inline = (
        "data:application/json;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()
    )
    script = str(tmp_path / "x.js")

    for url in ("x.js.map", f"file://{tmp_path}/x.js.map", inline):
        found = sourcemaps.load(url, script)
        assert found is not None, url
        assert found.sources[0] == str(tmp_path / "a.ts")
        assert found.contents == {str(tmp_path / "a.ts"): "let a"}
    assert sourcemaps.url_in(f"code()\n//# sourceMappingURL={inline}\n") == inline
    assert sourcemaps.url_in("const s = '//# sourceMappingURL=no'") == ""


@pytest.mark.parametrize(
    "url", ["gone.map", "https://host/x.map", "data:application/json;base64,!!", "data:,[]"]
)
def test_an_unavailable_map_is_none_and_no_error(url, tmp_path):
    assert sourcemaps.load(url, str(tmp_path / "x.js")) is None


def test_data_that_is_not_a_map_is_refused():
    with pytest.raises(BadMap):
        SourceMap({"version": 2}, "/p")
    with pytest.raises(BadMap):
        SourceMap({"version": 3, "sources": ["a"], "mappings": "A?"}, "/p")
    with pytest.raises(BadMap):
        # Each letter goes on with the number: to read it as one takes time squared.
        SourceMap({"version": 3, "sources": ["a"], "mappings": "g" * 400_000}, "/p")


def test_a_map_to_sources_that_it_does_not_have_is_refused():
    # Taken for code without a source, what is after it would be passed by every step.
    with pytest.raises(BadMap, match="line 2 is at no position"):
        SourceMap(a_map([[(0, 0, 1, 0)], [(4, 7, 2, 0), (8, 1, 3, 0)]]), "/p")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["offset", "map", "line", "column", "version"]), inner)
    ),
    max_leaves=8,
)


@given(
    st.fixed_dictionaries(
        {"version": st.just(3)},
        optional={
            "sources": JSON | st.lists(st.text(max_size=5) | JSON, max_size=3),
            "sourceRoot": JSON,
            "sourcesContent": JSON,
            "mappings": st.text(LETTERS + ",;", max_size=40) | JSON,
            "sections": JSON,
        },
    ),
    st.integers(0, 3),
    st.integers(0, 9),
)
def test_any_map_answers_or_is_refused(data, line, column):
    url = "data:application/json;base64," + base64.b64encode(json.dumps(data).encode()).decode()

    found = sourcemaps.load(url, "/p/x.js", "/p")

    if found is not None:
        origin = found.origin(line, column)
        assert origin is None or origin.path in found.sources
        for source in found.sources:
            found.generated(source, line)


def test_a_map_that_is_a_fifo_is_none(tmp_path):
    os.mkfifo(tmp_path / "x.js.map")
    assert sourcemaps.load("x.js.map", str(tmp_path / "x.js")) is None
