"""Programs are built into our own cache, once for each state of their sources."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from backends.async_tests import on_loop, until
from freezeframe import paths
from freezeframe.backends.builds import build_cache, c, toolchains
from freezeframe.backends.builds.build_plan import FOLDER, BuildPlan, BuildRequest
from freezeframe.backends.transport.run_command import run
from freezeframe.errors import BuildFailed, DebuggerTimeout
from harness import waits

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="apt-get install gcc")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FREEZEFRAME_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def recipe_for(path: Path, **variables: str) -> BuildPlan:
    toolchain = toolchains.for_file(str(path))
    assert toolchain is not None
    recipe = await toolchain.plan(BuildRequest(str(path), env={**os.environ, **variables}))
    assert recipe is not None
    return recipe


async def build(path: Path, **variables: str) -> build_cache.Built:
    recipe = await recipe_for(path, **variables)
    env = {**os.environ, **variables}
    return await build_cache.make(recipe, env=env, cwd=str(path.parent), timeout_s=60)


@on_loop
async def test_a_source_file_becomes_a_program_in_a_folder_that_is_ours_alone(tmp_path):
    source = write(tmp_path / "src" / "app.c", "int main(void) { return 7; }\n")

    built = await build(source)

    assert built.new
    assert built.program.startswith(paths.builds_dir() + os.sep)
    assert os.path.basename(built.program) == "app"
    assert os.stat(os.path.dirname(built.program)).st_mode & 0o077 == 0
    assert (await run([built.program], cwd="/", env={}, timeout_s=10)).status == 7
    assert os.listdir(source.parent) == ["app.c"]
    assert built.note(str(source.parent)).startswith("built: app.c with gcc -g -O0 in ")


@on_loop
async def test_an_unchanged_program_is_not_rebuilt(tmp_path):
    write(tmp_path / "code.h", "#define CODE 1\n")
    source = write(tmp_path / "app.c", '#include "code.h"\nint main(void) { return CODE; }\n')
    first = await build(source)

    second = await build(source)
    write(tmp_path / "code.h", "#define CODE 2\n")
    third = await build(source)

    assert (first.new, second.new, third.new) == (True, False, True)
    assert first.program == second.program == third.program
    assert (await run([third.program], cwd="/", env={}, timeout_s=10)).status == 2


@on_loop
async def test_other_flags_make_another_program(tmp_path):
    source = write(tmp_path / "app.c", "int main(void) { return CODE; }\n")

    first, second = await build(source, CFLAGS="-DCODE=1"), await build(source, CFLAGS="-DCODE=2")

    assert first.program != second.program
    assert (await run([first.program], cwd="/", env={}, timeout_s=10)).status == 1


@on_loop
async def test_errors_have_locations_relative_to_the_caller(tmp_path):
    source = write(tmp_path / "src" / "app.c", "int main(void) {\n  return nothing;\n}\n")
    recipe = await recipe_for(source)

    with pytest.raises(BuildFailed) as failure:
        await build_cache.make(recipe, env=os.environ, cwd=str(tmp_path), timeout_s=60)

    first, row = failure.value.message.splitlines()
    assert first == "src/app.c does not build with gcc -g -O0: 1 error."
    assert row.strip().startswith("src/app.c:2:10: 'nothing' undeclared")
    assert failure.value.next == "dbg source src/app.c:2"
    assert failure.value.error_code == "build-failed"


@on_loop
async def test_a_failed_build_is_tried_again(tmp_path):
    source = write(tmp_path / "app.c", "int main(void) { return 1; }\n")
    await build(source)
    write(source, "int main(void) { return }\n")
    for _ in range(2):
        with pytest.raises(BuildFailed):
            await build(source)

    write(source, "int main(void) { return 3; }\n")

    assert (await build(source)).new


@on_loop
async def test_a_linker_error_suggests_the_files_that_may_help(tmp_path):
    source = write(tmp_path / "app.c", "int other(void);\nint main(void) { return other(); }\n")
    write(tmp_path / "other.c", "int other(void) { return 5; }\n")

    with pytest.raises(BuildFailed) as failure:
        await build(source)
    built = await build(source, LDLIBS="other.c")

    assert "app.c:2: undefined reference to `other'" in failure.value.message
    assert failure.value.next == "LDLIBS=other.c dbg start app.c"
    assert (await run([built.program], cwd="/", env={}, timeout_s=10)).status == 5


@on_loop
async def test_a_flood_of_errors_is_cut_and_counted(tmp_path):
    lines = "".join(f"int a{n} = b{n};\n" for n in range(30))
    source = write(tmp_path / "app.c", f"{lines}int main(void) {{ return 0; }}\n")

    with pytest.raises(BuildFailed) as failure:
        await build(source)

    assert "30 errors" in failure.value.message
    assert failure.value.message.splitlines()[-1].strip() == "… 22 more"


@on_loop
async def test_a_missing_compiler_is_reported_with_an_install_command(tmp_path):
    source = write(tmp_path / "app.c", "int main(void) { return 0; }\n")

    with pytest.raises(BuildFailed) as failure:
        await recipe_for(source, PATH=str(tmp_path), CC="")

    assert "gcc or clang or cc" in failure.value.message
    assert failure.value.next.startswith("apt-get install gcc")


def slow(source: Path) -> BuildPlan:
    """A compiler that prints its pid and never ends."""
    script = f"echo $$ > {source.parent}/pid; sleep 1000 & echo $! >> {source.parent}/pid; wait"
    return BuildPlan(
        source=str(source),
        argv=("/bin/sh", "-c", script, FOLDER),
        cwd=str(source.parent),
        product="app",
        display="sh",
        read_errors=c.read_errors,
        name="slow",
    )


@on_loop
async def test_a_build_that_takes_too_long_is_killed_with_its_descendants(tmp_path):
    recipe = slow(tmp_path / "app.x")
    file = tmp_path / "pid"
    pids: list[str] = []
    timeout_s = 0.5

    while len(pids) < 2:  # on a busy machine the time may be up before it has started anything
        with pytest.raises(BuildFailed, match="was not done within"):
            await build_cache.make(recipe, env=os.environ, cwd=str(tmp_path), timeout_s=timeout_s)
        pids = file.read_text().split() if file.exists() else []
        timeout_s *= 2

    for pid in map(int, pids):
        waits.wait_for_exit(pid)


@on_loop
async def test_a_cancelled_build_leaves_no_compiler_behind(tmp_path):
    recipe = slow(tmp_path / "app.x")
    building = asyncio.ensure_future(
        build_cache.make(recipe, env=os.environ, cwd=str(tmp_path), timeout_s=60)
    )
    file = tmp_path / "pid"
    await until(lambda: file.exists() and len(file.read_text().split()) == 2)

    building.cancel()
    with pytest.raises(asyncio.CancelledError):
        await building

    for pid in map(int, file.read_text().split()):
        waits.wait_for_exit(pid)


@on_loop
async def test_builds_that_were_not_used_for_long_are_removed(tmp_path):
    old = await build(write(tmp_path / "old.c", "int main(void) { return 0; }\n"))
    new = await build(write(tmp_path / "new.c", "int main(void) { return 0; }\n"))
    os.utime(os.path.dirname(old.program), (1, 1))

    build_cache.prune()

    assert not os.path.exists(old.program)
    assert os.path.exists(new.program)


@on_loop
async def test_a_command_s_time_is_bounded_and_its_output_kept(tmp_path):
    ran = await run(
        ["/bin/sh", "-c", "echo out; echo err >&2; exit 3"], cwd="/", env={}, timeout_s=9
    )

    assert (ran.status, ran.out, ran.err) == (3, "out\n", "err\n")
    with pytest.raises(DebuggerTimeout):
        await run(["/bin/sleep", "60"], cwd="/", env={}, timeout_s=0.1)
