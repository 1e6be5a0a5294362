"""How debugpy is brought into Python programs and their children: quickly, and without a trace."""

from __future__ import annotations

import importlib.util
import os
import runpy
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import debugpy
import pytest

from freezeframe.backends.dap.adapters import debugpy as debugpy_adapter
from harness.reports import place, printed

_USES_BORROWED_MODULES = """\
import sys
import http.server
import importlib.metadata
import xmlrpc.client
import xmlrpc.server

print(http.server.HTTPServer.__name__, xmlrpc.client.ServerProxy.__name__)
print(xmlrpc.server.SimpleXMLRPCServer.__name__, callable(importlib.metadata.version))
"""


def test_a_program_gets_the_modules_that_debugpy_was_started_without(dbg, write_program):
    write_program("uses.py", _USES_BORROWED_MODULES)
    parent = write_program(
        "parent.py",
        "import subprocess, sys\n"
        "import uses\n"
        "for words in (['uses.py'], ['-m', 'uses'], ['-c', 'import uses']):\n"
        "    subprocess.run([sys.executable, *words], check=True)\n",
    )

    report = dbg.data("start", parent.name)

    assert report["exit"]["code"] == 0
    once = "HTTPServer ServerProxy\nSimpleXMLRPCServer True\n"
    assert printed(dbg.data("output", "--all"), "stdout") == once * 4


def test_a_child_with_an_empty_environment_prints_what_it_prints_alone(dbg, write_program):
    write_program("child.py", "import sys\nprint(sys.argv[1:])\n")
    parent = write_program(
        "parent.py",
        "import subprocess, sys\n"
        "for words in (['child.py', 'a'], ['-c', 'print(2)']):\n"
        "    python = [sys.executable, *words]\n"
        "    print(subprocess.run(python, env={}, capture_output=True, text=True))\n",
    )

    dbg.data("start", parent.name)

    out = printed(dbg.data("output", "--all"), "stdout")
    assert out.count("returncode=0") == 2
    assert out.count("stderr=''") == 2


def test_the_code_of_a_child_is_shown_and_run_as_it_was_given(dbg, write_program):
    """Python 3.13 shows it in tracebacks; what is put before it is not the program's."""
    names = runpy.run_path(str(Path(debugpy_adapter.__file__).with_name("code_agent.py")))
    given = "from __future__ import annotations; ä = 1; raise KeyError(ä)\n"
    future, rest = names["split_behind_future"](given)
    line = f"{future}{names['BEGINS']}'' if 1 else ''{names['ENDS']}{rest}"
    compile(line, "<string>", "exec")
    assert names["user_part"](line).lstrip() == given
    assert len(names["user_part"](line).encode()) == len(line.encode())

    code = "from __future__ import annotations; import traceback; traceback.print_stack()"
    run = f"subprocess.run([sys.executable, '-c', {code!r}], capture_output=True).stderr"
    parent = write_program("parent.py", f"import subprocess, sys\nprint({run})\n")
    shown = printed(dbg.data("start", parent.name))
    assert shown.startswith('b\'  File "<string>", line 1, in <module>\\n')
    assert "compile" not in shown


@pytest.mark.own_daemon
def test_debugpy_is_compiled_once_for_an_interpreter_that_keeps_no_bytecode(dbg, write_program):
    spec = importlib.util.find_spec("debugpy")
    assert spec is not None
    assert spec.submodule_search_locations
    copy = dbg.home / "bin" / "debugpy"
    shutil.copytree(
        spec.submodule_search_locations[0], copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    dbg.configure(f'[adapters.debugpy]\npath = "{copy}"\n')
    dbg.env["PYTHONDONTWRITEBYTECODE"] = "1"
    program = write_program("app.py", "print(1)\n")

    dbg.data("start", program.name)

    def kept() -> dict[Path, int]:
        files = (dbg.home / "cache" / "bytecode").rglob("*.pyc")
        return {file: file.stat().st_mtime_ns for file in files}

    first = kept()
    assert any(file.name == "pydevd.pyc" for file in first)
    assert not list(copy.rglob("*.pyc"))
    dbg.data("start", program.name)
    assert kept() == first


def test_a_child_whose_debugger_leaves_before_it_says_anything_runs(write_program):
    p = write_program("plain.py", "import sys\nprint('ran', sys.argv[1:])\nsys.exit(3)\n")
    agents = os.path.dirname(debugpy_adapter.__file__)
    package = os.path.dirname(debugpy.__file__)
    words = [os.path.join(agents, "child_agent", "pydevd.py"), "--freezeframe-cache="]
    words += [f"--freezeframe-package={package}", "--multiprocess", "--json-dap-http"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        words += ["--client", "127.0.0.1", "--port", str(listener.getsockname()[1])]
        with subprocess.Popen(
            [sys.executable, *words, "--file", str(p.path), "a"], stdout=subprocess.PIPE, text=True
        ) as child:
            try:
                listener.accept()[0].close()
                output, _ = child.communicate(timeout=30)
            finally:
                child.kill()

    assert output == "ran ['a']\n"
    assert child.returncode == 3


def test_messages_of_the_debugger_itself_are_not_in_the_output_of_the_program(dbg, write_program):
    p = write_program(
        "forks.py",
        "import os\nif os.fork() == 0:  # @fork\n    os._exit(0)  # @child\nos.wait()\nprint(1)\n",
    )
    complain = (
        "[getattr(__import__('sys').modules['_pydev_bundle.pydev_log'], kind)('complaint')"
        " for kind in ('critical', 'exception')]"
    )

    dbg.data("start", p.name, "-b", p.at("fork"), "-b", p.at("child"))
    dbg.data("eval", complain)
    report = dbg.data("continue")
    assert place(report) == p.at("child")
    dbg.data("eval", complain)
    dbg.data("continue")

    assert printed(dbg.data("output", "--all")) == "1\n"


def test_the_first_line_of_a_command_is_that_of_the_program_it_runs(dbg, write_program):
    p = write_program("app.py", "import sys  # @first\nprint(sys.argv[1:])\n")

    module = dbg.data("start", "-e", "-m", "json.tool", p.name)
    assert (module["stop"]["reason"], place(module)) == ("entry", "tool.py:1")
    dbg.data("stop")
    code = dbg.data("start", "-e", "python", "--", "-c", "import json\nprint(json)")
    assert place(code) == "<string>:1"
    dbg.data("stop")
    twice = f"for word in a b; do {sys.executable} {p.name} $word; done"
    report = dbg.data("start", "-e", "sh", "--", "-c", twice)
    assert (report["stop"]["reason"], place(report)) == ("entry", p.at("first"))
    assert dbg.data("continue")["exit"]["code"] == 0
    assert printed(dbg.data("output", "--all")) == "['a']\n['b']\n"
    refused = dbg.error("start", "--adapter", "pdb", "sh", "--", "-c", twice)
    assert refused["message"] == "pdb does not follow the programs that sh runs."
