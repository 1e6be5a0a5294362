"""The program that a command line runs, without starting it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.builds.build_cache import make
from freezeframe.backends.builds.build_plan import BuildPlan
from freezeframe.backends.commands import shell
from freezeframe.backends.commands.command_line import CommandLine, Resolved
from freezeframe.backends.commands.python_environments import environment_with
from freezeframe.backends.commands.resolve import resolve
from freezeframe.backends.transport.run_command import CommandResult, run
from freezeframe.errors import BuildFailed, NotFound, UsageError

PATH = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))


class Tools:
    """Runs the requested commands, and records them."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, ...]] = []

    async def run(self, argv: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> CommandResult:
        self.ran.append(tuple(argv))
        return await run(argv, cwd=cwd, env=env, timeout_s=30)

    async def build(self, recipe: BuildPlan, env: Mapping[str, str]) -> str:
        return (await make(recipe, env=env, cwd="/", timeout_s=60)).program


def write(path: Path, text: str, *, executable: bool = False) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if executable:
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def found(cwd: Path, line: str, tools: Tools | None = None) -> Resolved:
    env = {**os.environ, "PATH": PATH}
    got = await resolve(CommandLine(tuple(line.split()), str(cwd), env), tools or Tools())
    assert got is not None, line
    return got


@on_loop
async def test_options_of_python_are_separated_from_its_script_and_module(tmp_path):
    app = write(tmp_path / "app.py", "")

    for line, options, module, program, args in (
        ("python -O app.py -O", ("-O",), False, app, ("-O",)),
        ("python3 -X dev -Werror app.py", ("-X", "dev", "-Werror"), False, app, ()),
        ("python -OOm pytest -q", ("-OO",), True, "pytest", ("-q",)),
        ("python -mpytest", (), True, "pytest", ()),
        ("python -I -- app.py x", ("-I",), False, app, ("x",)),
        ("env A=b python -u app.py", ("-u",), False, app, ()),
    ):
        got = (await found(tmp_path, line)).program
        assert (got.interpreter_args, got.module, got.program, got.args) == (
            *(options, module, program, args),
        ), line
        assert got.interpreter
        assert os.path.isabs(got.interpreter)


@on_loop
async def test_a_shim_of_a_version_manager_is_the_program_behind_it(tmp_path):
    tool = write(tmp_path / "versions/tool", f"#!{sys.executable}\n", executable=True)
    which = f'[ "$2" = tool ] && echo {tool} && exit\necho "xenv: $2: not found" >&2\nexit 1\n'
    manager = write(tmp_path / "xenv", f"#!/bin/sh\n{which}", executable=True)
    shim = f'#!/bin/sh\nprogram="${{0##*/}}"\nexec "{manager}" exec "$program" "$@"\n'
    write(tmp_path / "shims/tool", shim, executable=True)
    write(tmp_path / "shims/other", shim, executable=True)

    got = (await found(tmp_path, "shims/tool -q")).program

    assert (got.program, got.args, got.interpreter) == (tool, ("-q",), sys.executable)
    with pytest.raises(NotFound, match="xenv: other: not found"):
        await found(tmp_path, "shims/other")


@on_loop
async def test_a_test_is_named_as_pytest_names_it(tmp_path):
    write(tmp_path / "t" / "test_a.py", "")

    got = (await found(tmp_path, "t/test_a.py::TestX::test_y -q")).program

    assert (got.program, got.module, got.args) == (
        "pytest",
        True,
        ("t/test_a.py::TestX::test_y", "-q"),
    )


@on_loop
async def test_tests_run_in_the_environment_that_has_their_runner(tmp_path):
    no_module = "#!/bin/sh\nexit 1\n"
    bare = write(tmp_path / "bin/python3", no_module, executable=True)
    write(tmp_path / "test_a.py", "")

    async def interpreter(**variables: str) -> tuple[str, bool, dict[str, str]]:
        env = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", **variables}
        line = CommandLine(("pytest",), str(tmp_path), env)
        got = await environment_with("pytest", line, Tools(), resolve)
        return got.interpreter, got.has_module, dict(got.line.env)

    assert (await interpreter())[:2] == (bare, False)

    write(tmp_path / "bin/pytest", f"#!{sys.executable}\n", executable=True)
    assert (await interpreter())[:2] == (sys.executable, True)
    test = await resolve(
        CommandLine(("test_a.py::x",), str(tmp_path), {"PATH": f"{tmp_path / 'bin'}:/bin"}), Tools()
    )
    assert test is not None
    assert (test.program.interpreter, test.program.args) == (sys.executable, ("test_a.py::x",))

    # A tool's environment comes before the command of that name on PATH.
    tool = f'#!/bin/sh\nshift\nIN_TOOL=1 PATH={os.path.dirname(sys.executable)}:$PATH exec "$@"\n'
    write(tmp_path / "bin/poetry", tool, executable=True)
    write(tmp_path / "poetry.lock", "")
    path, has_module, env = await interpreter()
    assert (os.path.dirname(path), has_module) == (os.path.dirname(sys.executable), True)
    assert env["IN_TOOL"] == "1"

    # The project's own environment, and an active one, come first if they have the runner.
    write(tmp_path / ".venv/bin/python", no_module, executable=True)
    assert (await interpreter())[0] == path
    own = write(tmp_path / ".venv/bin/python", "#!/bin/sh\n", executable=True)
    assert (await interpreter())[0] == own
    write(tmp_path / "active/bin/python", no_module, executable=True)
    assert (await interpreter(VIRTUAL_ENV=str(tmp_path / "active")))[0] == own
    active = write(tmp_path / "active/bin/python", "#!/bin/sh\n", executable=True)
    assert (await interpreter(VIRTUAL_ENV=str(tmp_path / "active")))[0] == active


@on_loop
async def test_a_console_script_is_run_by_the_interpreter_of_its_first_line(tmp_path):
    script = write(tmp_path / ".venv/bin/tool", f"#!{sys.executable} -O\n", executable=True)
    long = f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n"
    other = write(tmp_path / ".venv/bin/long", long, executable=True)

    got = await found(tmp_path, "tool --check x")
    by_shell = await found(tmp_path, "long -v")

    assert (got.program.program, got.program.args) == (script, ("--check", "x"))
    assert (got.program.interpreter, got.program.interpreter_args) == (sys.executable, ("-O",))
    assert "not on PATH" in got.line.remarks[0]
    assert (by_shell.program.program, by_shell.program.interpreter) == (other, sys.executable)


@on_loop
async def test_a_workspace_of_npm_is_named_before_or_behind_the_command(tmp_path):
    web = tmp_path / "packages" / "web"
    web.mkdir(parents=True)
    (web / "package.json").write_text('{"name": "shop-web", "scripts": {"test": "node t.js"}}')
    (web / "t.js").write_text("")
    (tmp_path / "package.json").write_text(
        '{"workspaces": ["packages/*"], "scripts": {"test": "npm test --workspaces"}}'
    )

    for words in ("npm test -w shop-web -- -x", "npm -w packages/web test -- -x"):
        got = await found(tmp_path, words)
        assert (got.line.cwd, got.program.args) == (str(web), ("-x",))
    # Of all workspaces npm itself runs the scripts, and its children are followed.
    assert (await found(tmp_path, "npm test")).program.name == "npm"


@on_loop
async def test_a_script_of_package_json_runs_what_comes_before_its_program(tmp_path):
    write(
        tmp_path / "package.json",
        '{"name": "shop", "scripts": {"pretest": "touch pre", "test":'
        ' "touch built && MODE=x node --expose-gc run.js --all", "lint": "cat x | wc"}}',
    )
    script = write(tmp_path / "run.js", "")
    below = tmp_path / "sub"
    below.mkdir()

    got = await found(below, "npm test -- -t name")

    assert (got.program.program, got.program.args) == (script, ("--all", "-t", "name"))
    assert got.program.interpreter_args == ("--expose-gc",)
    assert got.line.cwd == str(tmp_path)
    assert got.line.moved
    assert got.line.env["MODE"] == "x"
    assert got.line.env["npm_lifecycle_event"] == "test"
    assert got.line.env["PATH"].startswith(str(tmp_path / "node_modules/.bin"))
    assert (tmp_path / "built").exists()
    assert (tmp_path / "pre").exists()
    # What only a shell can run stays with npm, whose children are followed.
    piped = (await found(tmp_path, "npm run lint")).program
    assert piped.interpreter == "node"
    assert piped.args == ("run", "lint")


@on_loop
async def test_a_missing_script_is_reported_with_the_existing_ones(tmp_path):
    write(tmp_path / "package.json", '{"scripts": {"unit": "node x.js", "bad": "false && node x"}}')

    with pytest.raises(NotFound) as missing:
        await found(tmp_path, "npm run uint")
    with pytest.raises(BuildFailed) as failed:
        await found(tmp_path, "npm run bad")

    assert "unit" in missing.value.message
    assert missing.value.next == "dbg start npm run unit"
    assert "`false`" in failed.value.message


@on_loop
async def test_programs_of_packages_are_found_as_npx_finds_them(tmp_path):
    real = write(tmp_path / "node_modules/jest/bin.js", "#!/usr/bin/env node\n", executable=True)
    (tmp_path / "node_modules/.bin").mkdir()
    (tmp_path / "node_modules/.bin/jest").symlink_to(real)

    for line in ("npx jest -t name", "node_modules/.bin/jest -t name", "npx --yes -- jest -t name"):
        got = (await found(tmp_path, line)).program
        assert os.path.realpath(got.program) == real, line
        assert got.args == ("-t", "name"), line


@on_loop
async def test_tests_of_node_are_one_file_or_several_in_one_process(tmp_path):
    one = write(tmp_path / "a.test.js", "")
    two = write(tmp_path / "test" / "deep" / "b.mjs", "")
    write(tmp_path / "node_modules" / "x.test.js", "")

    alone = (await found(tmp_path, "node --test --test-name-pattern x a.test.js")).program
    all_of_them = (await found(tmp_path, "node --test")).program

    assert (alone.program, alone.args) == (one, ())
    assert alone.interpreter_args == ("--test-name-pattern", "x")
    assert sorted(all_of_them.args) == sorted((one, two))


@on_loop
async def test_the_runners_of_typescript_become_node(tmp_path):
    app = write(tmp_path / "app.ts", "")

    tsx = await found(tmp_path, "tsx --tsconfig x.json app.ts --port 3")
    ts_node = await found(tmp_path, "ts-node -T -P y.json app.ts")

    assert (tsx.program.program, tsx.program.args) == (app, ("--port", "3"))
    assert tsx.line.env["TSX_TSCONFIG_PATH"] == str(tmp_path / "x.json")
    assert ts_node.line.env["TS_NODE_TRANSPILE_ONLY"] == "true"
    assert ts_node.line.env["TS_NODE_PROJECT"] == "y.json"
    # Not with tsx, which the backend would take where both are installed: it checks no types.
    assert ts_node.program.interpreter_args == ("-r", "ts-node/register")


@on_loop
async def test_a_shell_script_of_commands_in_a_row_runs_its_last_under_the_debugger(tmp_path):
    app = write(tmp_path / "src" / "app.py", "")
    write(
        tmp_path / "run.sh",
        '#!/bin/sh\nset -e\nexport MODE=x\ntouch made\ncd src\nexec python -u app.py --all "$@"\n',
        executable=True,
    )
    write(tmp_path / "loop.sh", "#!/bin/sh\nfor i in 1 2; do echo $i; done\n", executable=True)

    got = await found(tmp_path, "./run.sh one two")

    assert (got.program.program, got.program.args) == (app, ("--all", "one", "two"))
    assert got.line.cwd == str(tmp_path / "src")
    assert got.line.env["MODE"] == "x"
    assert (tmp_path / "made").exists()
    with pytest.raises(UsageError, match="more in it than commands in a row"):
        await found(tmp_path, "./loop.sh")


@pytest.mark.parametrize("text", ["a | b", "a > b", "a & b", "x=$(y) z", "`a`", "(a; b)", "a || b"])
def test_a_line_that_needs_a_shell_is_not_parsed(text):
    assert shell.read(text, {}, "/") is None


def test_words_are_parsed_as_a_shell_does(tmp_path):
    (tmp_path / "b.js").touch()
    (tmp_path / "a.js").touch()

    got = shell.read(
        """A=1 run "x y" '$A' ${A}z *.js '*.js' && two; three""", {"A": "0"}, str(tmp_path)
    )

    assert got is not None
    assert [each.argv for each in got] == [
        *[("run", "x y", "$A", "1z", "a.js", "b.js", "*.js"), ("two",), ("three",)],
    ]
    assert got[0].env == {"A": "1"}


@on_loop
async def test_the_server_of_php_runs_with_all_its_arguments(tmp_path):
    write(tmp_path / "bin" / "php", "", executable=True)
    for name in ("router.php", "web/api.php", "web/index.php"):
        write(tmp_path / name, "<?php\n")
    (tmp_path / "empty").mkdir()

    for words, script in (
        ("-S 127.0.0.1:8000 router.php", "router.php"),
        ("-S127.0.0.1:8000 -t web", "web/index.php"),
    ):
        program = (await found(tmp_path, f"PATH={tmp_path}/bin php {words}")).program
        assert program.program == str(tmp_path / script)
        assert program.interpreter_args == tuple(words.split())
    for words in ("-S 127.0.0.1:8000 -t empty", "-S 127.0.0.1:8000 none.php"):
        with pytest.raises(NotFound):
            await found(tmp_path, f"PATH={tmp_path}/bin php {words}")
