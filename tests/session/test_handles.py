import pytest

from freezeframe.errors import NotFound, Stale
from freezeframe.session.handles import Handles, is_handle


def test_a_handle_leads_back_to_the_debuggers_id():
    handles = Handles(7)
    frame, value = handles.frame(0, 1234), handles.value(55)
    assert handles.resolve(frame) == 1234
    assert handles.resolve(value) == 55


def test_a_handle_of_an_earlier_stop_is_refused():
    old = Handles(7).value(55)
    with pytest.raises(Stale, match="stop 7"):
        Handles(8).resolve(old)


def test_a_value_without_children_has_no_handle():
    assert Handles(1).value(0) is None


@pytest.mark.parametrize("text", ["v1.9", "f1.3", "nonsense"])
def test_a_handle_that_was_never_given_is_not_found(text):
    with pytest.raises(NotFound):
        Handles(1).resolve(text)


def test_only_handles_look_like_handles():
    assert is_handle("v7.3")
    assert not is_handle("v7")
    assert not is_handle("vector.3")
