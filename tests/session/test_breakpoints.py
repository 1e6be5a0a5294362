import pytest

from freezeframe.backends.backend import BoundBreakpoint
from freezeframe.errors import NotFound, UsageError
from freezeframe.model.places import Location
from freezeframe.model.stops import BreakpointState
from freezeframe.session.breakpoints import Bindings, Book, Wanted, describe, resolve


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


def test_ids_are_never_given_twice():
    book = Book()
    first = book.add(Wanted(0, Location(function="f")))
    del book.wanted[first.id]
    assert book.add(Wanted(0, Location(function="f"))).id == first.id + 1


def test_an_unknown_id_names_those_that_there_are():
    book = Book()
    book.add(Wanted(0, Location(function="f")))
    with pytest.raises(NotFound, match="there are 1"):
        book.get(9)


def test_disabled_breakpoints_are_not_sent():
    book = Book()
    book.add(Wanted(0, Location(file="/a.py", line=1)))
    book.add(Wanted(0, Location(file="/a.py", line=2), enabled=False))
    assert [w.location.line for w in book.for_file("/a.py")] == [1]


@pytest.mark.parametrize(
    ("bound", "state"),
    [
        (None, BreakpointState.WANTED),
        (BoundBreakpoint(1, True, "/a.py", 3), BreakpointState.BOUND),
        (BoundBreakpoint(1, False, message="not loaded"), BreakpointState.PENDING),
        (BoundBreakpoint(1, False, message="bad", rejected=True), BreakpointState.REJECTED),
    ],
)
def test_a_breakpoint_shows_what_the_debugger_made_of_it(bound, state):
    entry = Wanted(1, Location(file="/a.py", line=3))
    assert describe(entry, bound).state is state


def test_a_moved_breakpoint_says_where_it_was_asked_for():
    entry = Wanted(1, Location(file="/a.py", line=3))
    shown = describe(entry, BoundBreakpoint(1, True, "/a.py", 5))
    assert (shown.line, shown.moved_from) == (5, 3)


def test_bindings_forget_what_was_removed():
    bindings = Bindings()
    bindings.update([BoundBreakpoint(1, True)])
    bindings.forget([1])
    assert bindings.get(1) is None
