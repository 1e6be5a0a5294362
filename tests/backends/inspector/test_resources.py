"""Only node's messages about its debugger are removed from a program's output."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.inspector.resources import InspectorBannerFilter, read_url

LISTENING = "Debugger listening on ws://127.0.0.1:9/id\nFor help, see: https://host/inspector\n"
ATTACHED = "Debugger attached.\n"
WAITING = "Waiting for the debugger to disconnect...\n"


class FilteredOutput:
    def __init__(self) -> None:
        self.text = ""
        self.urls: list[str] = []
        self.filter = InspectorBannerFilter(self._more, self.urls.append)

    def _more(self, text: str) -> None:
        self.text += text


@given(st.lists(st.text(alphabet="Debugger attached.\nx", max_size=30)), st.integers(1, 40))
def test_runtime_messages_are_removed_at_any_position_and_in_any_chunks(own, size):
    first, middle, last = "".join(own[::3]), "".join(own[1::3]), "".join(own[2::3])
    # The program's text must not be the same as the runtime's by chance.
    first, middle = first.replace("D", "d"), middle.replace("D", "d")
    whole = LISTENING + first + ATTACHED + middle + WAITING + last
    output = FilteredOutput()
    output.filter.expect_attached()

    for start in range(0, len(whole), size):
        output.filter.feed(whole[start : start + size])
    output.filter.flush()

    assert output.text == first + middle + last
    assert output.urls == ["ws://127.0.0.1:9/id"]


def test_a_program_that_prints_the_same_text_keeps_it():
    output = FilteredOutput()
    output.filter.expect_attached()

    output.filter.feed(LISTENING + ATTACHED + ATTACHED + "mine\n" + WAITING + WAITING)

    assert output.text == ATTACHED + "mine\n" + WAITING


def test_text_is_held_back_only_while_it_may_be_the_runtime_s():
    output = FilteredOutput()

    output.filter.feed("Debug")
    assert output.text == ""
    output.filter.feed(" level 3")
    assert output.text == "Debug level 3"
    output.filter.feed("For he")
    output.filter.flush()
    assert output.text == "Debug level 3For he"


def test_a_url_is_split_into_host_port_and_path():
    assert read_url("ws://127.0.0.1:9229/a-b") == ("127.0.0.1", 9229, "/a-b")
    assert read_url("ws://[::1]:9229/a") == ("::1", 9229, "/a")
    assert read_url("http://host/") is None
