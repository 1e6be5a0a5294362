import pytest

from freezeframe.backends.backend import BoundBreakpoint
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.locations import Location
from freezeframe.model.stops import BreakpointState
from freezeframe.session.breakpoints import (
    BoundBreakpoints,
    LogicalBreakpoint,
    LogicalBreakpoints,
    describe,
    resolve,
)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "app.py").write_text("one\ntwo\nthree\n")
    (tmp_path / "lib" / "deep").mkdir(parents=True)
    (tmp_path / "lib" / "deep" / "part.py").write_text("one\n")
    return tmp_path


def at(text, project):
    return resolve(Location.parse(text), str(project), str(project))


def test_a_file_is_found_from_where_the_caller_stands(project):
    assert at("app.py:2", project) == Location(file=str(project / "app.py"), line=2)


def test_a_name_that_stands_in_one_place_of_the_workspace_is_found_there(project):
    assert at("part.py:1", project).file == str(project / "lib" / "deep" / "part.py")


def test_a_name_that_stands_in_two_places_is_asked_back(project):
    (project / "part.py").mkdir()
    (project / "other").mkdir()
    (project / "other" / "part.py").write_text("one\n")
    with pytest.raises(NotFound, match="any of 2 files"):
        at("part.py:1", project)


def source_files(*paths):
    return lambda text, project: resolve(
        Location.parse(text), str(project), str(project), source_files=lambda: paths
    )


def test_a_file_that_the_program_was_made_of_is_found_by_its_name(project, tmp_path_factory):
    away = tmp_path_factory.mktemp("away") / "far.c"
    away.write_text("one\n")
    find = source_files("/nowhere/other.c", str(away))

    assert find("far.c:1", project) == Location(file=str(away), line=1)
    # One that is not here has lines all the same.
    assert find("other.c:70", project) == Location(file="/nowhere/other.c", line=70)
    with pytest.raises(NotFound) as error:
        find("farr.c:1", project)
    assert error.value.next == f"dbg break {away}:1"


def test_of_two_files_the_one_that_the_program_was_made_of_is_meant(project):
    (project / "other").mkdir()
    (project / "other" / "part.py").write_text("one\n")
    path = str(project / "other" / "part.py")

    assert source_files(path)("part.py:1", project).file == path


def test_a_file_of_another_kind_is_not_offered_for_a_misspelt_one(project):
    with pytest.raises(NotFound) as error:
        at("app.pyc:2", project)
    assert error.value.next == "dbg break FILE:LINE"


def test_a_misspelt_file_names_the_nearest(project):
    with pytest.raises(NotFound) as error:
        at("ap.py:2", project)
    assert error.value.next == "dbg break app.py:2"


def test_a_line_beyond_the_end_says_how_many_there_are(project):
    with pytest.raises(NotFound, match="has 3 lines"):
        at("app.py:4", project)


def test_line_zero_is_no_line(project):
    with pytest.raises(UsageError):
        at("app.py:0", project)


def test_a_file_without_a_line_is_not_taken_for_a_function(project):
    with pytest.raises(UsageError) as error:
        at("app.py", project)
    assert error.value.next == "dbg source app.py:1"


@pytest.mark.parametrize("text", ["app.py:total", "deep/part.py:total", "part.py:Cart.total"])
def test_a_function_of_a_file_is_its_first_line(text, project):
    path = next(project.rglob(text.partition(":")[0].rpartition("/")[2]))
    path.write_text("class Cart:\n    def total(self):\n        return 3\n")

    assert at(text, project) == Location(file=str(path), line=3)


@pytest.mark.parametrize("name", ["app", "mod.total", "a::b", "gone.py", "gone.py:total"])
def test_a_name_that_is_no_file_may_be_a_function(name, project):
    (project / "app").touch()  # a program may be called as its function is
    assert at(name, project) == Location(function=name)


def test_ids_are_never_given_twice():
    breakpoints = LogicalBreakpoints()
    first = breakpoints.add(LogicalBreakpoint(0, Location(function="f")))
    del breakpoints.entries[first.id]
    assert breakpoints.add(LogicalBreakpoint(0, Location(function="f"))).id == first.id + 1


def test_an_unknown_id_names_those_that_there_are():
    breakpoints = LogicalBreakpoints()
    breakpoints.add(LogicalBreakpoint(0, Location(function="f")))
    with pytest.raises(NotFound, match="there are 1"):
        breakpoints.get(9)


def test_disabled_breakpoints_are_not_sent():
    breakpoints = LogicalBreakpoints()
    breakpoints.add(LogicalBreakpoint(0, Location(file="/a.py", line=1)))
    breakpoints.add(LogicalBreakpoint(0, Location(file="/a.py", line=2), enabled=False))
    assert [w.location.line for w in breakpoints.for_file("/a.py")] == [1]


@pytest.mark.parametrize(
    ("bound", "state"),
    [
        (None, BreakpointState.REQUESTED),
        (BoundBreakpoint(1, True, "/a.py", 3), BreakpointState.BOUND),
        (BoundBreakpoint(1, False, message="not loaded"), BreakpointState.PENDING),
        (BoundBreakpoint(1, False, message="bad", rejected=True), BreakpointState.REJECTED),
    ],
)
def test_a_breakpoint_shows_what_the_debugger_made_of_it(bound, state):
    entry = LogicalBreakpoint(1, Location(file="/a.py", line=3))
    assert describe(entry, bound).state is state


def test_a_moved_breakpoint_says_where_it_was_asked_for():
    entry = LogicalBreakpoint(1, Location(file="/a.py", line=3))
    shown = describe(entry, BoundBreakpoint(1, True, "/a.py", 5))
    assert (shown.line, shown.moved_from) == (5, 3)


def test_bindings_forget_what_was_removed():
    bindings = BoundBreakpoints()
    bindings.update([BoundBreakpoint(1, True)])
    bindings.forget([1])
    assert bindings.get(1) is None


def test_a_line_is_found_by_its_text(project):
    app = project / "app.py"
    app.write_text(
        "total = 0\nfor x in xs:\n    total += x  # sum\nend\nprint(total)\ntotal = 0\nend2\n"
    )

    for spelled in ('app.py:"total += x"', "app.py:'total += x'", "app.py:total += x  # sum"):
        assert at(spelled, project) == Location(file=str(app), line=3)
    assert at("app.py:print(total)", project).line == 5
    # A line that says nothing else is meant before those that contain it.
    assert at('app.py:"end"', project).line == 4
    with pytest.raises(NotFound, match=r"lines 1, 6 of app\.py contain `total = 0`") as several:
        at('app.py:"total = 0"', project)
    assert several.value.next == "dbg break app.py:1"
    with pytest.raises(NotFound, match=r"line 3 is `total \+= x  # sum`") as near:
        at('app.py:"totl += x # sum"', project)
    assert near.value.next == "dbg break app.py:3"
    with pytest.raises(NotFound, match=r"no line of app\.py contains `while`"):
        at('app.py:"while"', project)


@pytest.mark.parametrize(
    ("text", "function"),
    [("ns::f(int)", "ns::f(int)"), ("main.(*T).Add", "main.(*T).Add"), ("app.total", "app.total")],
)
def test_the_name_of_a_function_is_no_text_of_a_line(text, function):
    assert Location.parse(text) == Location(function=function)


def test_a_file_and_a_word_are_no_function(project):
    with pytest.raises(UsageError, match="neither FILE:LINE nor a function"):
        at("FILE:LINE", project)
