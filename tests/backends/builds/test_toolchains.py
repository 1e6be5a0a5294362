"""What can be built or run at a path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from freezeframe.backends.builds import toolchains


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
        ("a.m", "Objective-C"),
    ],
)
def test_a_source_file_is_known_by_its_suffix(name, language):
    found = toolchains.for_file(f"/x/{name}")

    assert found is not None
    assert found.language == language


def test_an_unknown_file_has_no_toolchain(tmp_path):
    assert toolchains.for_file("/x/a.txt") is None
    assert toolchains.for_folder(str(tmp_path)) is None


def test_a_folder_is_known_by_its_project_file(tmp_path):
    write(tmp_path / "rust" / "Cargo.toml")
    write(tmp_path / "go" / "go.mod")
    write(tmp_path / "loose" / "main.go", MAIN)

    for name, language in [("rust", "Rust"), ("go", "Go"), ("loose", "Go")]:
        found = toolchains.for_folder(str(tmp_path / name))
        assert found is not None
        assert found.language == language


def test_the_programs_of_a_go_module_are_its_mains(tmp_path):
    write(tmp_path / "go.mod", "module x\n")
    write(tmp_path / "lib.go", "package lib\n")
    write(tmp_path / "cmd" / "one" / "main.go", MAIN)
    write(tmp_path / "cmd" / "two" / "main.go", MAIN)
    write(tmp_path / "gen" / "gen.go", f"//go:build ignore\n\n{MAIN}")

    assert toolchains.programs(str(tmp_path)) == ["./cmd/one", "./cmd/two"]


def test_a_package_json_names_its_program(tmp_path):
    write(tmp_path / "package.json", json.dumps({"main": "lib/app"}))
    write(tmp_path / "lib" / "app.js")

    assert toolchains.programs(str(tmp_path)) == ["lib/app.js"]


@pytest.mark.parametrize("text", ["", "[]", '{"main": 3}', '{"main": "nowhere.js"}'])
def test_a_package_json_without_a_program_is_not_a_program(tmp_path, text):
    write(tmp_path / "package.json", text)

    assert toolchains.entry_file(str(tmp_path)) is None


def test_an_unsupported_project_is_reported_with_its_build_command(tmp_path):
    write(tmp_path / "shop.csproj")

    known = toolchains.elsewhere(str(tmp_path))

    assert known is not None
    assert known[0] == "a .NET project"
    assert known[1].startswith("dotnet build")
