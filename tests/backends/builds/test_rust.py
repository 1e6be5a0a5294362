"""Rust: cargo's packages and single files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.builds import build_cache, rust
from freezeframe.backends.builds.build_plan import BuildPlan, BuildRequest
from freezeframe.backends.transport.run_command import run
from freezeframe.errors import BuildFailed, NotFound

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="apt-get install cargo")
[TOOLCHAIN] = rust.TOOLCHAINS

MANIFEST = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FREEZEFRAME_HOME", str(tmp_path / "home"))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def ends_with(code: int) -> str:
    return f"fn main() {{ std::process::exit({code}); }}\n"


async def plan(path: Path, *, tests: bool = False) -> BuildPlan:
    cwd = str(path.parent)
    recipe = await TOOLCHAIN.plan(BuildRequest(str(path), tests=tests, env=os.environ, cwd=cwd))
    assert recipe is not None
    return recipe


async def status_of(recipe: BuildPlan) -> int:
    built = await build_cache.make(recipe, env=os.environ, cwd="/", timeout_s=60)
    return (await run([built.program], cwd="/", env={}, timeout_s=10)).status


@on_loop
async def test_a_file_in_a_package_means_the_program_that_it_belongs_to(tmp_path):
    root = tmp_path / "shop"
    write(root / "Cargo.toml", MANIFEST + 'default-run = "shop"\n')
    write(root / "src" / "main.rs", "mod part;\n" + ends_with(1))
    part = write(root / "src" / "part.rs", "")
    other = write(root / "src" / "bin" / "other.rs", ends_with(2))
    example = write(root / "examples" / "show.rs", ends_with(3))

    assert await status_of(await plan(root)) == 1
    assert await status_of(await plan(part)) == 1
    assert await status_of(await plan(other)) == 2
    assert await status_of(await plan(example)) == 3
    # As cargo itself does: what it has built already is not built again.
    assert sorted(os.listdir(root)) == ["Cargo.lock", "Cargo.toml", "examples", "src", "target"]


@on_loop
async def test_of_several_programs_one_must_be_named(tmp_path):
    write(tmp_path / "shop" / "Cargo.toml", MANIFEST)
    for name in ("one", "two"):
        write(tmp_path / "shop" / "src" / "bin" / f"{name}.rs", ends_with(0))

    with pytest.raises(NotFound) as failure:
        await plan(tmp_path / "shop")

    assert "2 programs: shop/src/bin/one.rs, shop/src/bin/two.rs" in failure.value.message
    assert failure.value.next == "dbg start shop/src/bin/one.rs"


@on_loop
async def test_the_tests_of_a_library_are_built(tmp_path):
    write(tmp_path / "shop" / "Cargo.toml", MANIFEST)
    write(tmp_path / "shop" / "src" / "lib.rs", "#[test]\nfn fails() { assert!(false) }\n")

    recipe = await plan(tmp_path / "shop", tests=True)

    assert recipe.run_in == str(tmp_path / "shop")
    assert await status_of(recipe) == 101


@on_loop
async def test_errors_of_a_package_have_locations(tmp_path):
    write(tmp_path / "shop" / "Cargo.toml", MANIFEST)
    write(tmp_path / "shop" / "src" / "main.rs", "fn main() {\n    missing();\n}\n")
    recipe = await plan(tmp_path / "shop")

    with pytest.raises(BuildFailed) as failure:
        await build_cache.make(recipe, env=os.environ, cwd=str(tmp_path), timeout_s=60)

    assert "shop/src/main.rs:2:5: cannot find function `missing`" in failure.value.message


@on_loop
async def test_a_file_outside_of_any_package_is_compiled_by_itself(tmp_path):
    file = write(tmp_path / "my-app.rs", ends_with(4))

    assert await status_of(await plan(file)) == 4
