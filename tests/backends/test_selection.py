"""Which debugger is chosen when the user names one, or a protocol."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from freezeframe.backends import selection
from freezeframe.config import Config
from freezeframe.errors import DebuggerMissing, UsageError


def chosen(
    program: str, name: str | None, *, default: str | None = None
) -> selection.DebuggerChoice:
    config = Config()
    config = replace(config, defaults=replace(config.defaults, adapter=default))
    return selection.choose(program, name=name, env=os.environ, config=config)


@pytest.fixture
def script(tmp_path) -> str:
    path = tmp_path / "app.py"
    path.write_text("print(1)\n")
    return str(path)


def test_a_kind_means_the_best_debugger_of_that_kind(script):
    assert chosen(script, "dap").debugger.name == "debugpy"
    assert chosen(script, None, default="dap").debugger.name == "debugpy"
    console = chosen(script, "console")
    assert (console.debugger.name, console.debugger.kind) == ("pdb", "console")
    assert console.reason.endswith("console named by --adapter")
    assert selection.takes_source(script, name="console", config=Config())
    assert not selection.takes_source(script, name="inspector", config=Config())


def test_a_kind_that_has_nothing_for_a_program_names_what_has(script):
    with pytest.raises(DebuggerMissing, match="others do: debugpy, pdb") as refused:
        chosen(script, "inspector")

    assert refused.value.next == "dbg start PROGRAM --adapter debugpy"


@pytest.mark.parametrize("given", [{"name": "gdbx"}, {"name": None, "default": "gdbx"}])
def test_an_unknown_name_lists_debuggers_and_kinds(script, given):
    with pytest.raises(UsageError) as refused:
        chosen(script, **given)

    for word in ("'gdbx'", "debugpy", "lldb-cli", "console, dap, inspector"):
        assert word in refused.value.message


def test_machine_code_gets_gdb_where_it_is_installed_and_swift_always_lldb(tmp_path):
    found = tmp_path / "bin"
    found.mkdir()
    for name in ("gdb", "lldb-dap"):
        (found / name).write_text("#!/bin/sh\n")
        (found / name).chmod(0o755)
    plain, swift = tmp_path / "plain", tmp_path / "swift"
    plain.write_bytes(b"\x7fELF" + bytes(60))
    swift.write_bytes(b"\x7fELF" + bytes(60) + b"\0swift5_types\0")

    def taken(program: str) -> str:
        env = {"PATH": str(found)}
        return selection.choose(program, name=None, env=env, config=Config()).debugger.name

    assert taken(str(plain)) == "gdb-mi"
    assert taken(str(swift)) == "lldb-dap"
    (found / "gdb").unlink()
    assert taken(str(plain)) == "lldb-dap"


def test_a_debugger_that_does_not_fit_is_refused(script, tmp_path):
    unknown = tmp_path / "thing"
    unknown.write_text("?")

    with pytest.raises(UsageError, match=r"which app\.py is not; for it there are debugpy, pdb"):
        chosen(script, "lldb-dap")
    with pytest.raises(UsageError, match="which ls is not"):
        chosen("/bin/ls", "node")
    # A file that no debugger claims may be anything.
    assert chosen(str(unknown), "debugpy").debugger.name == "debugpy"


def test_a_core_file_of_an_interpreter_is_for_a_debugger_of_machine_code():
    def chosen_for_this(**named: bool) -> selection.DebuggerChoice:
        return selection.choose_for_pid(
            os.getpid(), name=None, env=os.environ, config=Config(), **named
        )

    assert "Python" in chosen_for_this().debugger.languages
    native = chosen_for_this(native=True)
    assert native.debugger.binaries
    assert native.program == os.path.realpath("/proc/self/exe")


def test_a_named_debugger_that_is_missing_says_who_named_it_and_what_would_do(tmp_path):
    (tmp_path / "gdb").write_text("#!/bin/sh\n")
    (tmp_path / "gdb").chmod(0o755)
    config = Config()
    config = replace(
        config,
        defaults=replace(config.defaults, adapter="codelldb"),
        sources={"defaults.adapter": "FREEZEFRAME_DEBUGGER"},
    )

    problem = selection.problem_of_choice({"PATH": str(tmp_path)}, config)

    assert problem.message.startswith("codelldb, named by FREEZEFRAME_DEBUGGER, is not here: ")
    assert problem.message.endswith("; gdb-mi would do.")
    assert problem.next == "dbg start PROGRAM --adapter gdb-mi"
    assert selection.problem_of_choice(os.environ, Config()) is None
