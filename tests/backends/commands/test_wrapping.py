"""Commands that prefix another one, or run several: which one is debugged."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.commands.command_line import CommandLine, Resolved
from freezeframe.backends.commands.resolve import resolve
from freezeframe.errors import BuildFailed, NotFound, UsageError

from .test_resolve import PATH, Tools, write


async def found(cwd: Path, line: str, **env: str) -> Resolved:
    given = {**os.environ, "PATH": f"{cwd / 'bin'}{os.pathsep}{PATH}", **env}
    got = await resolve(CommandLine(tuple(shlex.split(line)), str(cwd), given), Tools())
    assert got is not None, line
    return got


@pytest.mark.parametrize(
    "line",
    [
        "A=b PYTHONPATH=. python app.py x",
        "sh -c 'A=b python app.py x'",
        "bash -euc 'cd .; export A=b; exec python app.py x'",
        "timeout -k 9 5 env A=b nice -n 3 python app.py x",
        "A=b watchexec -e py -- python app.py x",
    ],
)
@on_loop
async def test_prefix_commands_are_removed(tmp_path, line):
    app = write(tmp_path / "app.py", "")

    got = await found(tmp_path, line)

    assert (got.program.program, got.program.args) == (app, ("x",))
    assert got.line.env["A"] == "b"


@on_loop
async def test_only_root_debugs_with_sudo(tmp_path, monkeypatch):
    app = write(tmp_path / "app.py", "")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert (await found(tmp_path, "sudo -E python app.py")).program.program == app
    with pytest.raises(UsageError) as other:
        await found(tmp_path, "sudo -u www python app.py")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(UsageError) as more:
        await found(tmp_path, "sudo python 'app.py'")

    assert other.value.next == "sudo -u www dbg start python app.py"
    assert more.value.next == "sudo dbg start python app.py"


@pytest.mark.parametrize(
    ("line", "agent"),
    [
        ("bash -c 'for f in *.py; do python $f; done'", "follow_agent.py"),
        ("sh loop.sh a b", "follow_agent.py"),
        ("./loop.sh a b", "follow_agent.py"),
        ("xargs -n 1 python app.py", "follow_agent.py"),
        ("python -O -c 'import app'", "follow_agent.py"),
        ("node -e 'require(\"./x\")'", "follow_agent.cjs"),
        ("sh -c 'node x.js | cat'", "follow_agent.cjs"),
        ("sh -c 'python app.py; echo done'", "follow_agent.py"),
    ],
)
@on_loop
async def test_what_only_a_shell_can_run_is_run_and_its_children_are_followed(
    tmp_path, line, agent
):
    write(
        tmp_path / "loop.sh", '#!/bin/sh\nfor f in "$@"; do python app.py $f; done', executable=True
    )

    got = (await found(tmp_path, line)).program

    assert os.path.basename(got.program) == agent
    command, *words = shlex.split(line)
    if os.path.basename(got.args[0]) != "loop.sh":
        assert (os.path.basename(got.args[0]), list(got.args[1:])) == (command, words)
    else:
        assert got.args[1:] == ("a", "b")


@on_loop
async def test_a_shell_line_without_a_known_program_is_refused(tmp_path):
    with pytest.raises(UsageError, match="only a shell"):
        await found(tmp_path, "sh -c 'ls | wc -l'")


@on_loop
async def test_the_failing_one_of_several_commands_is_debugged(tmp_path):
    write(tmp_path / "bad.js", "process.exit(3)")
    write(tmp_path / "good.js", "")
    write(
        tmp_path / "package.json",
        json.dumps(
            {
                "scripts": {
                    "ci": "node bad.js a && node good.js",
                    "fine": "node good.js && node bad.js b",
                    "build": "false && node good.js",
                }
            }
        ),
    )

    first = await found(tmp_path, "npm run ci")
    last = await found(tmp_path, "npm run fine")
    with pytest.raises(BuildFailed):
        await found(tmp_path, "npm run build")

    assert (first.program.program, first.program.args) == (str(tmp_path / "bad.js"), ("a",))
    assert any("what follows it is not run" in each for each in first.line.remarks)
    assert (last.program.program, last.program.args) == (str(tmp_path / "bad.js"), ("b",))


@on_loop
async def test_the_failing_command_of_a_makefile_is_debugged(tmp_path):
    bad = write(tmp_path / "bad.py", "raise SystemExit(3)")
    write(tmp_path / "good.py", "")
    write(tmp_path / "Makefile", "test:\n\tpython bad.py\n\tpython good.py\n")
    write(
        tmp_path / "all" / "Makefile",
        "test:\n\tfor f in *.py; do python $$f || exit 1; done\n",
    )

    got = await found(tmp_path, "make test")
    looped = await found(tmp_path / "all", "make test")

    assert got.program.program == bad
    assert os.path.basename(looped.program.program) == "follow_agent.py"


#: what `just` answers to `--dry-run` and `--command`, as version 1.40 does
JUST = """#!/bin/sh
case "$*" in
*--command*) shift $(($# - 3)); A=fromjust exec "$@" ;;
"--dry-run test -k x") echo 'python app.py -k x' >&2 ;;
*) echo "error: Justfile does not contain recipe" >&2; exit 1 ;;
esac
"""


@on_loop
async def test_a_just_recipe_is_run_in_the_environment_of_just(tmp_path):
    app = write(tmp_path / "app.py", "")
    write(tmp_path / "bin" / "just", JUST, executable=True)

    got = await found(tmp_path, "just test -k x")

    assert (got.program.program, got.program.args) == (app, ("-k", "x"))
    assert got.line.env["A"] == "fromjust"


#: what `hatch` answers where a project has a script `test`, as version 1.14 does
HATCH = f"""#!{sys.executable}
import json, os, sys
if sys.argv[1:] == ["env", "show", "--json"]:
    print(json.dumps({{"default": {{"type": "virtual", "scripts": {{"test": ["pytest"]}}}}}}))
elif sys.argv[1] == "run":
    os.execvp(sys.argv[2], sys.argv[2:])
"""


@on_loop
async def test_a_script_of_the_project_s_tool_is_run_by_the_tool(tmp_path):
    hatch = write(tmp_path / "bin" / "hatch", HATCH, executable=True)
    app = write(tmp_path / "app.py", "")

    script = (await found(tmp_path, "hatch run test -k x")).program
    other = (await found(tmp_path, "hatch run cov:test")).program
    plain = (await found(tmp_path, "hatch run python app.py")).program

    assert (script.program, script.args) == (hatch, ("run", "test", "-k", "x"))
    assert other.program == hatch
    assert plain.program == app


@on_loop
async def test_files_of_other_runtimes_are_offered_to_node(tmp_path):
    write(tmp_path / "bin" / "bun", "#!/bin/sh\n", executable=True)
    app = write(tmp_path / "app.js", "")
    write(tmp_path / "package.json", '{"scripts": {"go": "node app.js"}}')

    with pytest.raises(UsageError) as refused:
        await found(tmp_path, "bun app.js")

    assert refused.value.next == "dbg start app.js"
    assert (await found(tmp_path, "bun run go")).program.program == app


#: what `meson` answers and writes, as version 1.9 does
MESON = """#!/bin/sh
case "$1" in
introspect) cat tests.json ;;
test) mkdir -p b/meson-logs && cp log.json b/meson-logs/testlog.json; exit 1 ;;
esac
"""


@on_loop
async def test_the_failing_one_of_several_meson_tests_is_debugged(tmp_path):
    bad = write(tmp_path / "b" / "bad", "")
    write(tmp_path / "b" / "ok", "")
    write(tmp_path / "bin" / "meson", MESON, executable=True)
    write(tmp_path / "bin" / "ninja", "#!/bin/sh\n", executable=True)
    tests = [{"name": name, "cmd": [str(tmp_path / "b" / name), "x"]} for name in ("ok", "bad")]
    write(tmp_path / "tests.json", json.dumps(tests))
    results = ({"name": "shop:ok", "result": "OK"}, {"name": "shop:unit / bad", "result": "FAIL"})
    write(tmp_path / "log.json", "\n".join(map(json.dumps, results)))

    got = await found(tmp_path, "meson test -C b")
    with pytest.raises(NotFound, match="there are ok, bad"):
        await found(tmp_path, "meson test -C b other")

    assert (got.program.program, got.program.args) == (bad, ("x",))
    assert any("meson test -C b NAME" in each for each in got.line.remarks)
