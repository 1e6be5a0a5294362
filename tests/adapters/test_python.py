"""What users of Python expect beyond the contract: modules, exceptions, values, mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.reports import bare, changes, frame_of, functions, place, printed, texts, values

# --- the caller's Python, directory and environment -----------------------------------------------


def test_the_program_runs_with_the_interpreter_directory_and_environment_of_the_caller(
    dbg, write_program, debugger, project
):
    write_program(
        "whoami.py",
        "import os, sys\n"
        "print('%d.%d' % sys.version_info[:2], os.getcwd(), os.environ['COLOUR'], sys.argv)\n",
    )

    report = dbg.data("start", "whoami.py", "a b", "--", "-c", env={"COLOUR": "blue"})

    version = debugger.interpreter.version
    assert printed(report) == f"{version} {project} blue ['whoami.py', 'a b', '-c']\n"


def test_the_environment_and_directory_can_be_given(dbg, write_program, project):
    write_program("where.py", "import os\nprint(os.getcwd(), os.environ['COLOUR'])\n")
    (project / "below").mkdir()
    (project / "below" / "used.py").write_text("n = 1\n")

    words = ("where.py", "--cwd", "below", "--env", "COLOUR=red", "-b", "used.py:1 if n")
    report = dbg.data("start", *words)

    assert printed(report) == f"{project}/below red\n"
    assert dbg.error("start", *words[:-1], "unused.py:1")["code"] == "not-found"


def test_a_package_runs_as_a_module(dbg, program):
    p = program("package")

    report = dbg.data("start", "-b", p.at("package_callee"), "-m", "package", "x", "--flag")

    assert place(report) == f"shop.py:{p.line('package_callee')}"
    assert printed(dbg.data("continue")) == "__main__ package 2 ['x', '--flag']\n"


def test_options_of_dbg_behind_a_modules_name_are_dbgs_and_the_rest_the_modules(dbg, program):
    p = program("package")
    line = p.at("package_callee")

    report = dbg.data(
        *("start", "-m", "package", "x", "-b", line, "--name", "web", "-e", "--adapter", "debugpy"),
        *("--zip", "--", "-b", line),
    )

    assert report["session"] == "web"
    assert place(report) == f"shop.py:{p.line('package_callee')}"
    assert printed(dbg.data("continue")) == (
        f"__main__ package 2 ['x', '-e', '--zip', '-b', '{line}']\n"
    )


@pytest.mark.parametrize("way", [("names.py",), ("-m", "names")], ids=["script", "module"])
def test_nothing_of_the_debugger_is_among_the_names_of_the_program(dbg, write_program, way):
    write_program("names.py", "print([name for name in globals() if not name.startswith('__')])\n")

    assert printed(dbg.data("start", *way)) == "[]\n"


def test_the_line_of_a_relative_path_is_found_from_a_folder_below(dbg, program, project):
    p = program("package")
    below = project / "package"

    report = dbg.data(
        "start", "-b", f"shop.py:{p.line('package_callee')}", "__main__.py", cwd=below
    )

    # Run as a script it has no package to import from, and says so where it fails.
    assert report["stop"]["exception"]["type"].endswith("ImportError")


# --- exceptions ---------------------------------------------------------------------------------


def test_a_chained_exception_tells_its_cause(dbg, program):
    p = program("raises.py")

    report = dbg.data("start", p.name)

    assert place(report) == p.at("uncaught")
    exception = report["stop"]["exception"]
    assert exception["type"].endswith("RuntimeError")
    assert exception["message"] == "no setting 'size'"
    assert any("KeyError" in cause for cause in exception["causes"])
    assert texts(report)["key"] == "'size'"


def test_raised_stops_where_an_exception_is_raised_though_it_is_caught(dbg, program):
    p = program("raises.py")
    # Imports raise and catch exceptions of their own.
    p.path.write_text(p.path.read_text().replace("\n", "; import xml.dom.minidom\n", 1))
    dbg.data("catch", "raised")

    for adapter in ("debugpy", "pdb"):
        report = dbg.data("start", p.name, "--adapter", adapter)
        assert place(report) == p.at("raised")
        assert report["stop"]["exception"]["type"].endswith("ValueError")
        # Once, not in each frame that it leaves, though the filter was there before the program.
        assert place(dbg.data("continue")) == p.at("key_error")
    dbg.data("catch", "off")


def test_an_endless_recursion_stops_with_its_type_and_depth(dbg, program):
    p = program("deep.py")

    report = dbg.data("start", p.name)

    assert report["stop"]["reason"] == "exception"
    assert report["stop"]["exception"]["type"].endswith("RecursionError")
    assert bare(frame_of(report)["function"]) == "dive"
    assert int(texts(report)["level"]) > 100
    answer = dbg("backtrace")
    assert len(answer.out.encode()) < 1500, "a thousand frames are folded"
    assert dbg.data("continue")["exit"]["code"] == 1


def test_sys_exit_is_no_failure(dbg, program):
    p = program("exits.py")

    report = dbg.data("start", p.name, "5")

    assert report["state"] == "terminated"
    assert report["exit"]["code"] == 5


# --- values -------------------------------------------------------------------------------------


def test_none_is_none_and_empty_is_empty(dbg, program):
    p = program("loop.py")
    dbg("start", p.name, "-b", p.at("print"))

    assert texts(dbg.data("locals"))["nothing"] == "None"
    assert texts(dbg.data("locals"))["empty"] == "[]"
    assert dbg("print", "nothing").out == "nothing = None\n"
    assert dbg("print", "empty").out == "empty = []\n"
    assert dbg.data("eval", "empty.append(1)")["value"]["text"] == "None"
    assert dbg("print", "empty").out == "empty = [1]\n"


def test_a_change_inside_a_value_is_marked_where_it_happened_and_only_there(dbg, program):
    p = program("loop.py")
    dbg.data("start", p.name, "-b", p.at("done"))

    report = dbg.data("next")

    changed = [change for value in values(report).values() for change in changes(value)]
    assert all("done" in change["name"] + change["text"] for change in changed), changed
    assert changed, "item['done'] is new"
    assert values(report)["total"]["changed"] is False


def test_objects_are_shown_by_what_they_hold(dbg, program):
    p = program("shapes.py")
    dbg("start", p.name, "-b", p.at("here"))

    answer = dbg("locals")

    assert "owner='Ada'" in answer.out
    assert "Item(name='pen', count=2, tags=['blue', 'new'])" in answer.out
    assert dbg("print", "account.balance").out == "account.balance = 15\n"


@pytest.mark.parametrize("stop", ["method", "closure", "yield"])
def test_methods_closures_and_generators_are_stopped_in(dbg, program, stop):
    p = program("shapes.py")

    assert place(dbg.data("start", p.name, "-b", p.at(stop))) == p.at(stop)


def test_huge_values_fit_the_budget_and_can_be_paged(dbg, program):
    p = program("big.py")

    report = dbg("start", p.name, "-b", p.at("here"))
    assert report.code == 0, str(report)
    assert len(report.out.encode()) <= 6000

    for expression in ("text", "table", "numbers", "nested", "blob"):
        answer = dbg("print", expression)
        assert answer.code == 0, str(answer)
        assert len(answer.out.encode()) <= 6000
    page = dbg("print", "numbers", "--range", "100:103").out
    assert all(number in page for number in ("100", "101", "102"))
    assert "104" not in page
    assert "4321" in dbg("print", "table", "--range", "4321:4322").out
    assert "\x1b" not in dbg("print", "lines").out


def test_a_page_holds_every_element_under_its_own_number(dbg, program):
    p = program("big.py")
    dbg("start", p.name, "-b", p.at("here"))

    page = dbg.data("print", "numbers", "--range", "100:700")["value"]["children"]
    entries = dbg.data("print", "table", "--range", "0:600")["value"]["children"]

    assert [int(child["name"]) for child in page] == list(range(100, 700))
    assert [child["text"] for child in page] == [child["name"] for child in page]
    assert [child["text"] for child in entries] == [str(number) for number in range(600)]


def test_a_page_of_an_iterator_does_not_use_it_up(dbg, write_program):
    p = write_program("squares.py", "squares = iter([1, 4, 9])\nprint(list(squares))  # @here\n")
    dbg("start", p.name, "-b", p.at("here"))

    dbg("print", "squares", "--range", "0:2")

    assert printed(dbg.data("continue")) == "[1, 4, 9]\n"


@pytest.mark.own_daemon
def test_values_that_fight_back_harm_nobody(dbg, program):
    p = program("evil.py")
    dbg.configure("[timeouts]\nvalue_s = 1\n")

    report = dbg.data("start", p.name, "-b", p.at("here"))

    assert place(report) == p.at("here")
    seen = texts(report)
    assert seen["before"] == "1"
    assert seen["raises"] == "Raises()"  # its __repr__ did not run
    assert dbg.data("print", "before + after")["value"]["text"] == "3"
    assert dbg("print", "endless").code in (0, 1)
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 0
    assert "still here 3" in printed(ended)


# --- logpoints, asyncio, pytest -----------------------------------------------------------------


def test_a_logpoint_loses_nothing_though_the_program_dies_at_once(dbg, program):
    p = program("logs.py")
    dbg.data("break", p.at("turn"), "--log", "turn {turn}")

    report = dbg.data("start", p.name)

    assert report["exit"]["code"] == 9
    lines = printed(dbg.data("output", "--all"), "log").splitlines()
    assert lines == [f"turn {turn}" for turn in range(500)]


def test_a_step_over_an_await_stays_in_the_task(dbg, program):
    p = program("tasks.py")
    dbg.data("start", p.name, "-b", p.at("task"))

    report = dbg.data("next", "--count", 2)

    assert bare(frame_of(report)["function"]) == "fetch"
    assert dbg.data("breakpoint", "remove", "--all")["breakpoints"] == []
    assert dbg.data("continue")["exit"]["code"] == 0


def with_pytest():
    """An environment in which any Python finds the pytest that runs this test."""
    return {
        "PYTHONPATH": str(Path(pytest.__file__).parent.parent),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def test_code_under_pytest_is_stopped_in(dbg, program):
    p = program("test_cart.py")
    words = [
        "start",
        "-b",
        p.at("discount"),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        p.name,
    ]

    report = dbg.data(*words, env=with_pytest())

    assert place(report) == p.at("discount")
    assert report["stop"]["thread"]["name"] == "MainThread"
    dbg.data("breakpoint", "remove", "--all")
    assert place(dbg.data("continue")) == p.at("assert")
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 1
    assert "1 failed, 1 passed" in printed(ended)


def test_an_assertion_that_fails_under_pytest_can_be_stopped_at(dbg, program):
    p = program("test_cart.py")
    dbg.data("catch", "userUnhandled")

    report = dbg.data("start", "-m", "pytest", "-p", "no:cacheprovider", p.name, env=with_pytest())

    assert place(report) == p.at("assert")
    assert report["stop"]["exception"]["type"].endswith("AssertionError")
    assert texts(report)["prices"] == "[50, 100]"


def test_frames_of_libraries_are_folded_and_can_be_unfolded(dbg, write_program):
    p = write_program(
        "hook.py",
        "import json\n\n\ndef hook(table):\n    return table  # @hook\n\n\n"
        "json.loads('{}', object_hook=hook)\n",
    )
    dbg.data("start", p.name, "-b", p.at("hook"))

    [stack] = dbg.data("backtrace")["stacks"]

    assert functions(stack) == ["hook", "<module>"]
    assert any(frame["library"] for frame in stack["frames"])
    assert "decoder.py" not in dbg("backtrace").out
    assert "decoder.py" in dbg("backtrace", "--all").out


# --- mistakes -----------------------------------------------------------------------------------


def test_a_missing_program_is_named(dbg, project):
    error = dbg.error("start", "nowhere.py")

    assert "nowhere.py" in error["message"]
    assert dbg.data("sessions")["sessions"] == []


def test_a_program_that_does_not_compile_is_told_with_the_place(dbg, program):
    p = program("broken.py")

    answer = dbg("start", p.name)

    assert "SyntaxError" in answer.out + answer.err
    assert "broken.py" in answer.out + answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("line", "why"), [(9999, "beyond the end"), (2, "empty"), (6, "empty"), (1, "a docstring")]
)
def test_a_breakpoint_where_no_code_is_never_looks_bound_there(dbg, program, line, why):
    p = program("loop.py")

    answer = dbg("--json", "start", p.name, "-b", f"loop.py:{line}")

    if answer.code != 0:
        assert str(line) in answer.json()["error"]["message"]
        return
    report = answer.data()
    if report["stop"] and frame_of(report)["line"] == line:
        return  # there is code after all: a module's docstring is stored
    [each] = report["breakpoints"]
    assert each["state"] != "bound" or each["moved_from"] == line, f"the line is {why}"


def test_a_bare_line_at_the_start_is_one_of_the_program_wherever_another_stands(dbg, program):
    other, p = program("orders.py"), program("loop.py")
    dbg.data("start", other.name, "-e")

    report = dbg.data("start", p.name, "-b", p.line("loop"))

    assert place(report) == p.at("loop")
    error = dbg.error("start", "-b", p.line("loop"), "-m", "loop", code=2)
    assert "of which file" in error["message"]


def test_a_condition_that_cannot_be_parsed_is_refused_at_once(dbg, program):
    p = program("loop.py")

    error = dbg.error("break", p.at("loop"), "-c", "number ==")

    assert "number ==" in error["message"]


def test_a_message_that_cannot_be_parsed_is_refused_at_once(dbg, program):
    p = program("loop.py")

    error = dbg.error("break", p.at("loop"), "--log", "n is {number +}", code=2)

    assert "number +" in error["message"]
    assert dbg.data("breakpoint", "list")["breakpoints"] == []


def test_a_condition_that_raises_stops_and_says_why(dbg, program):
    p = program("loop.py")
    dbg.data("break", p.at("loop"), "-c", "no_such_name > 1")

    answer = dbg("start", p.name)

    assert "no_such_name" in answer.out, str(answer)


def test_a_typo_leads_to_the_command_that_was_meant(dbg):
    error = dbg.error("brek", "loop.py:3", code=2)

    assert error["code"] == "usage"
    assert "break" in error["next"]


def test_a_breakpoint_follows_its_line_that_an_edit_moved(dbg, write_program):
    source = "def total(rows):\n    result = 0\n    result += len(rows)\n    return result\n\n"
    source += "total([1])\n"
    path = write_program("total.py", source).path
    dbg("start", "total.py", "-b", "total.py:3")

    path.write_text("# edited\n" + source)
    again = dbg.data("restart")
    assert "breakpoint 1 moved with its line to total.py:4" in again["notes"]
    assert again["stop"]["frame"]["line"] == 4
    assert not dbg.data("restart")["notes"]

    path.write_text("# edited\n" + source.replace("len(rows)", "sum(rows)"))
    assert not dbg.data("restart")["notes"], "a line that was edited in place is still the same"

    dbg.data("breakpoint", "remove", "--all")
    path.write_text(source)
    late = dbg.error("break", "total.py:2", "--text", "result +=")
    assert (late["code"], late["next"]) == ("stale", "dbg break total.py:3")
    assert "line 2 of total.py does not contain `result +=`, line 3 does" in late["message"]
    dbg.data("break", "total.py:3", "--text", "result +=")
    path.write_text("# edited\n" + path.read_text())
    report = dbg.data("restart")
    assert report["notes"] == ["breakpoint 2 moved with its line to total.py:4"]
    assert place(report) == "total.py:4"
