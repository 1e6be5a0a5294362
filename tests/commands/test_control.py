"""A person takes a session over: commands of an agent wait, and it is told what was done."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest

#: the settings are changed, and sessions stay taken over
pytestmark = pytest.mark.own_daemon
PERSON = {"id": "page-1"}


class Page:
    """Sends requests of a person to the daemon, as the page of `dbg web` does."""

    def __init__(self, dbg, owner: dict[str, str]) -> None:
        self._owner, self._cwd = owner, str(dbg.project)
        self._link = socket.socket(socket.AF_UNIX)
        self._link.connect(str(dbg.home / "daemon.sock"))
        self._lines = self._link.makefile("rb")

    def __call__(self, command: str, **args: object) -> dict[str, Any]:
        request = {"command": command, "args": args, "owner": self._owner, "cwd": self._cwd}
        self._link.sendall(json.dumps({"id": 1, **request}).encode() + b"\n")
        answer: dict[str, Any] = json.loads(self._lines.readline())
        return answer

    def close(self) -> None:
        self._lines.close()
        self._link.close()


@pytest.fixture
def page(dbg, program):
    p = program("loop.py")
    assert dbg("start", p.path, "-b", p.at("first")).code == 0
    page = Page(dbg, PERSON)
    yield page
    page.close()


def test_an_agent_is_refused_waits_and_is_told(dbg, page):
    assert page("control", action="take")["result"]["own"] is True

    for command in (["next"], ["set", "total", "5"], ["break", "loop.py:12"], ["stop"]):
        assert dbg.error(*command)["code"] == "taken-over"
    refused = dbg("continue")
    assert "a person has taken over loop." in refused.err
    assert "next: dbg await" in refused.err
    assert dbg("locals").code == 0, "looking is not refused"

    waiting = dbg.start_background("await")
    assert page("next")["success"]
    assert page("next")["success"]
    assert page("set", assignment=["total", "5"])["success"]
    assert waiting.running
    assert page("control", action="release")["success"]

    told = waiting.wait()
    assert "note: a person handed back loop: next ×2, set total 5; " in told.out
    assert "the program is stopped at" in told.out.partition("\n")[0]
    assert "note:" not in dbg("next").out


def test_an_owner_that_does_not_come_back_blocks_nobody(dbg, page):
    dbg.configure("[timeouts]\ncontrol_s = 0.1\n")
    page("control", action="take")

    answer = dbg("await")

    assert answer.code == 0
    assert "note: a person left loop: nothing was done; " in answer.out
    assert dbg("next").code == 0


def test_of_two_owners_the_last_one_has_the_session(dbg, page):
    editor = Page(dbg, {"id": "nvim-1", "kind": "editor", "name": "Neovim"})
    page("control", action="take")

    assert editor("control", action="take")["result"]["owner"] == "Neovim"

    refused = page("next")["error"]
    assert (refused["code"], refused["message"]) == ("taken-over", "Neovim has taken over loop.")
    assert page("control", action="release")["result"]["owner"] == "Neovim"
    assert editor("next")["success"]
    editor.close()


def test_what_the_program_printed_meanwhile_is_in_the_agent_s_next_answer(dbg, page, program):
    p = program("loop.py")
    dbg("start", p.path, "-b", p.at("print"))
    page("control", action="take")
    assert "adding" in str(page("next")["result"]["output"])
    page("control", action="release")

    assert "| adding" in dbg("await").out
