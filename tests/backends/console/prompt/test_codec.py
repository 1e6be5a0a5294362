"""A prompt, read: any chunking, any words, any program that shares the stream."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.console.command_channel import ImmediateReply
from freezeframe.backends.console.prompt.codec import PromptCodec, UnsolicitedText

PROMPT = "(dbg) "


def codec(*, eager: bool = True, marked: str = "") -> PromptCodec:
    return PromptCodec(
        lambda token: f"print {token}",
        prompt=r"\(dbg\) ",
        marked=marked,
        nonce="abc",
        eager=eager,
    )


def token_of(written: bytes) -> str:
    return written.decode().splitlines()[-1].removeprefix("print ")


def chunks(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(places)]


def answers(found: list[object]) -> list[object]:
    return [each for each in found if isinstance(each, tuple)]


_CUTS = st.lists(st.integers(0, 400), max_size=12)
#: what a debugger or a program may print; never our token, which nobody can guess
_WORDS = st.text(st.sampled_from("ab\n (dbg)>\r\t\"'é\U0001f600"), max_size=80)


@given(words=_WORDS, cuts=_CUTS, eager=st.booleans())
def test_an_answer_is_everything_before_its_token_whatever_it_looks_like(words, cuts, eager):
    prompt = codec(eager=eager)
    written = prompt.encode(7, "where")
    found: list[object] = []
    replied = eager
    token = "ffabcn7z"
    body = f"{words}\n{PROMPT}".encode()
    for piece in chunks(body, cuts):
        found += prompt.feed(piece)
    replied = replied or any(isinstance(each, ImmediateReply) for each in found)
    assert replied, "it has prompted, so its token must have been asked for"
    assert not answers(found), "nothing is an answer before its token"
    for piece in chunks(f"{token}\n{PROMPT}".encode(), cuts):
        found += prompt.feed(piece)

    assert token in written.decode() + "".join(
        each.data.decode() for each in found if isinstance(each, ImmediateReply)
    )
    [(answered, text)] = answers(found)
    assert answered == 7
    clean = f"{words}\n".replace("\r", "")
    # A prompt at its beginning is the debugger's own: it may have prompted again meanwhile.
    while clean.startswith(PROMPT):
        clean = clean.removeprefix(PROMPT)
    assert text == clean


@given(st.binary(max_size=300), _CUTS)
def test_no_bytes_break_it(data, cuts):
    prompt = codec()
    written = prompt.encode(1, "x")
    for piece in chunks(data, cuts):
        assert not answers(prompt.feed(piece))
    # Whatever escape sequence was left open ends with a letter, or with the bell.
    found = prompt.feed(b"m\x07\x1b\\\n" + f"{token_of(written)}\n{PROMPT}".encode())
    assert [token for token, _ in answers(found)] == [1]


def test_the_answer_waits_for_the_prompt_behind_the_token():
    prompt = codec()
    token = token_of(prompt.encode(1, "x"))

    assert prompt.feed(f"12\n{PROMPT}{token}\n".encode()) == []
    assert prompt.feed(b"(db") == []
    assert prompt.feed(b"g) ") == [(1, "12\n")]


def test_a_late_answer_goes_to_its_own_command():
    prompt = codec()
    first = token_of(prompt.encode(1, "slow"))
    # The queue sends nothing more before the first is answered; but if it did:
    second = token_of(prompt.encode(2, "quick"))

    found = prompt.feed(f"late\n{PROMPT}{first}\n{PROMPT}".encode())
    found += prompt.feed(f"now\n{PROMPT}{second}\n{PROMPT}".encode())

    assert [token for token, _ in answers(found)] == [2]


def test_a_prompt_that_a_program_prints_asks_for_the_token_once():
    prompt = codec(eager=False)
    assert prompt.encode(1, "run") == b"run\n"

    replies = [each for each in prompt.feed(b"(dbg) ") if isinstance(each, ImmediateReply)]
    assert len(replies) == 1
    assert prompt.feed(b"more output\n(dbg) ") == []
    found = prompt.feed(f"{token_of(replies[0].data)}\n{PROMPT}".encode())
    assert found == [(1, "more output\n")]


def test_colours_and_carriage_returns_are_gone_even_when_they_are_cut_in_two():
    prompt = codec()
    token = token_of(prompt.encode(1, "x"))

    data = f"\x1b[1;31mred\x1b[0m\r\n\x1b]0;title\x07\x1b[?2004h{PROMPT}{token}\r\n{PROMPT}"
    found: list[object] = []
    for byte in data.encode():
        found += prompt.feed(bytes([byte]))

    assert answers(found) == [(1, "red\n")]


def test_words_between_the_prompt_and_a_token_belong_to_the_token():
    prompt = codec(marked=r'\$\d+ = "')
    token = token_of(prompt.encode(1, "x"))

    assert prompt.feed(f'12\n{PROMPT}$3 = "{token}"\n{PROMPT}'.encode()) == [(1, "12\n")]


def test_what_is_said_to_nobody_is_told_in_whole_lines():
    prompt = codec()
    token = token_of(prompt.encode(1, "x"))
    prompt.feed(f"{token}\n{PROMPT}".encode())

    assert prompt.feed(b"Breakpoint ") == []
    assert prompt.feed(b"hit: line 3\n(db") == [UnsolicitedText("Breakpoint hit: line 3\n")]
    assert prompt.feed(b"g) ") == []
    # The prompt that came with it is not part of the next answer.
    token = token_of(prompt.encode(2, "y"))
    assert prompt.feed(f"5\n{PROMPT}{token}\n{PROMPT}".encode()) == [(2, "5\n")]


@pytest.mark.parametrize("size", [1 << 20])
def test_a_long_answer_takes_linear_time(size):
    prompt = codec()
    token = token_of(prompt.encode(1, "x"))
    data = b"x" * size + f"\n{PROMPT}{token}\n{PROMPT}".encode()

    found: list[object] = []
    for start in range(0, len(data), 4096):
        found += prompt.feed(data[start : start + 4096])

    [(_, text)] = answers(found)
    assert len(text) == size + 1


def test_a_stop_that_is_told_between_a_token_and_its_prompt_is_not_lost():
    prompt = codec()
    token = token_of(prompt.encode(1, "go"))

    found = prompt.feed(f"{PROMPT}{token}\nstopped at 4\n{PROMPT}{PROMPT}".encode())

    assert found == [(1, ""), UnsolicitedText("stopped at 4\n")]
