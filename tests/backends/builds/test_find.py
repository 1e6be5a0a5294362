"""What there is to build or run at a place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freezeframe.backends.builds import find


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


MAIN = "package main\n\nfunc main() {}\n"


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("a.c", "C"),
        ("a.cpp", "C++"),
        ("a.C", "C++"),
        ("a.rs", "Rust"),
        ("a.go", "Go"),
        ("a.f90", "Fortran"),
    ],
)
def test_a_source_file_is_known_by_its_suffix(name, language):
    found = find.for_file(f"/x/{name}")

    assert found is not None
    assert found.language == language


def test_what_no_toolchain_knows_is_nobody_s(tmp_path):
    assert find.for_file("/x/a.txt") is None
    assert find.for_folder(str(tmp_path)) is None


def test_a_folder_is_known_by_its_project_file(tmp_path):
    write(tmp_path / "rust" / "Cargo.toml")
    write(tmp_path / "go" / "go.mod")
    write(tmp_path / "loose" / "main.go", MAIN)

    for name, language in [("rust", "Rust"), ("go", "Go"), ("loose", "Go")]:
        found = find.for_folder(str(tmp_path / name))
        assert found is not None
        assert found.language == language


def test_the_programs_of_a_go_module_are_its_mains(tmp_path):
    write(tmp_path / "go.mod", "module x\n")
    write(tmp_path / "lib.go", "package lib\n")
    write(tmp_path / "cmd" / "one" / "main.go", MAIN)
    write(tmp_path / "cmd" / "two" / "main.go", MAIN)
    write(tmp_path / "gen" / "gen.go", f"//go:build ignore\n\n{MAIN}")

    assert find.programs(str(tmp_path)) == ["./cmd/one", "./cmd/two"]


def test_a_package_json_names_its_program(tmp_path):
    write(tmp_path / "package.json", json.dumps({"main": "lib/app"}))
    write(tmp_path / "lib" / "app.js")

    assert find.programs(str(tmp_path)) == ["lib/app.js"]


@pytest.mark.parametrize("text", ["", "[]", '{"main": 3}', '{"main": "nowhere.js"}'])
def test_a_package_json_that_names_none_is_no_program(tmp_path, text):
    write(tmp_path / "package.json", text)

    assert find.entry_file(str(tmp_path)) is None


def test_a_project_that_nothing_here_builds_is_told_with_what_does(tmp_path):
    write(tmp_path / "shop.csproj")

    known = find.elsewhere(str(tmp_path))

    assert known is not None
    assert known[0] == "a .NET project"
    assert known[1].startswith("dotnet build")
