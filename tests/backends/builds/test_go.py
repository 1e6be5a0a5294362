"""Go's packages, tests and files, and what its compiler says."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.builds import go
from freezeframe.backends.builds.build_plan import BuildPlan, BuildRequest
from freezeframe.backends.transport.run_command import CommandResult
from freezeframe.errors import NotFound

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="apt-get install golang-go")

MAIN = "package main\n\nfunc main() {}\n"
[TOOLCHAIN] = go.TOOLCHAINS


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def plan(path: Path, *, tests: bool = False) -> BuildPlan:
    cwd = str(path.parent if path.is_dir() else path.parent.parent)
    recipe = await TOOLCHAIN.plan(BuildRequest(str(path), tests=tests, env=os.environ, cwd=cwd))
    assert recipe is not None
    return recipe


@on_loop
async def test_a_package_is_built_where_it_is_without_optimisation(tmp_path):
    write(tmp_path / "go.mod", "module x\n")
    write(tmp_path / "cmd" / "app" / "main.go", MAIN)

    recipe = await plan(tmp_path / "cmd" / "app")

    assert recipe.cwd == str(tmp_path / "cmd" / "app")
    assert "-gcflags=all=-N -l" in recipe.argv
    assert (recipe.argv[-1], recipe.product, recipe.run_in) == (".", "app", None)


@on_loop
async def test_a_file_of_a_package_means_the_package(tmp_path):
    file = write(tmp_path / "app" / "main.go", MAIN)
    write(tmp_path / "app" / "more.go", "package main\n")
    write(tmp_path / "app" / "more_test.go", "package main\n")

    loose = await plan(file)
    write(tmp_path / "go.mod", "module x\n")
    recipe = await plan(file)

    # Outside of a module there is no package but the files that are named.
    assert loose.argv[-2:] == ("main.go", "more.go")
    assert recipe.argv[-1] == "."
    assert recipe.name == "app"


@on_loop
async def test_a_file_outside_its_package_is_built_alone(tmp_path):
    one = write(tmp_path / "one.go", MAIN)
    write(tmp_path / "two.go", MAIN)
    ignored = write(tmp_path / "gen" / "gen.go", f"//go:build ignore\n\n{MAIN}")

    for file in (one, ignored):
        recipe = await plan(file)
        assert recipe.argv[-1] == file.name
        assert recipe.product == file.stem


@on_loop
async def test_tests_run_in_their_package_s_folder(tmp_path):
    file = write(tmp_path / "cart" / "cart_test.go", "package cart\n")

    for recipe in (await plan(file), await plan(tmp_path / "cart", tests=True)):
        assert recipe.argv[1:3] == ("test", "-c")
        assert recipe.run_in == str(tmp_path / "cart")
        assert recipe.arguments(("-run", "X", "-v", "--count=1", "-mine", "run")) == (
            "-test.run",
            "X",
            "-test.v",
            "-test.count=1",
            "-mine",
            "run",
        )


@on_loop
async def test_a_library_is_not_a_program_and_its_tests_are_suggested(tmp_path):
    write(tmp_path / "cart" / "cart.go", "package cart\n")
    write(tmp_path / "cart" / "cart_test.go", "package cart\n")

    with pytest.raises(NotFound) as failure:
        await plan(tmp_path / "cart")

    assert "cart is package cart, a library" in failure.value.message
    assert failure.value.next == "dbg start go test ./cart"


def test_the_compiler_s_errors_have_locations():
    said = "# example.com/app\n./main.go:5:2: undefined: x\nmain.go:9: bad\ntoo many errors\n"

    first, second = go.read_errors(CommandResult(1, "", said, 0.1))

    assert (first.file, first.line, first.column, first.text) == ("main.go", 5, 2, "undefined: x")
    assert (second.file, second.line, second.column) == ("main.go", 9, None)


def test_errors_of_the_go_command_are_read_too():
    said = "go: downloading a v1\ngo: cannot find main module, but -modfile was set.\n"

    [only] = go.read_errors(CommandResult(1, "", said, 0.1))

    assert only.text.startswith("cannot find main module")
    assert only.file is None
