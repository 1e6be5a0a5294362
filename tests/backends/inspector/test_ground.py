"""What node says about its debugger is kept out of a program's output, and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.inspector.ground import Hush, read_url

LISTENING = "Debugger listening on ws://127.0.0.1:9/id\nFor help, see: https://host/inspector\n"
ATTACHED = "Debugger attached.\n"
WAITING = "Waiting for the debugger to disconnect...\n"


class Heard:
    def __init__(self) -> None:
        self.text = ""
        self.urls: list[str] = []
        self.hush = Hush(self._more, self.urls.append)

    def _more(self, text: str) -> None:
        self.text += text


@given(st.lists(st.text(alphabet="Debugger attached.\nx", max_size=30)), st.integers(1, 40))
def test_the_runtime_s_words_are_taken_out_wherever_they_stand_and_however_they_come(own, size):
    first, middle, last = "".join(own[::3]), "".join(own[1::3]), "".join(own[2::3])
    # What a program writes may not be the same words by chance.
    first, middle = first.replace("D", "d"), middle.replace("D", "d")
    whole = LISTENING + first + ATTACHED + middle + WAITING + last
    heard = Heard()
    heard.hush.expect_attached()

    for start in range(0, len(whole), size):
        heard.hush.feed(whole[start : start + size])
    heard.hush.flush()

    assert heard.text == first + middle + last
    assert heard.urls == ["ws://127.0.0.1:9/id"]


def test_a_program_that_prints_the_same_words_keeps_them():
    heard = Heard()
    heard.hush.expect_attached()

    heard.hush.feed(LISTENING + ATTACHED + ATTACHED + "mine\n" + WAITING + WAITING)

    assert heard.text == ATTACHED + "mine\n" + WAITING


def test_nothing_is_kept_back_longer_than_it_may_be_the_runtime_s():
    heard = Heard()

    heard.hush.feed("Debug")
    assert heard.text == ""
    heard.hush.feed(" level 3")
    assert heard.text == "Debug level 3"
    heard.hush.feed("For he")
    heard.hush.flush()
    assert heard.text == "Debug level 3For he"


def test_an_address_is_read_in_its_parts():
    assert read_url("ws://127.0.0.1:9229/a-b") == ("127.0.0.1", 9229, "/a-b")
    assert read_url("ws://[::1]:9229/a") == ("::1", 9229, "/a")
    assert read_url("http://host/") is None
