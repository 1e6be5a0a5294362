"""The report of an exception beyond its message, compared with Python's own traceback."""

from __future__ import annotations

import pytest

from harness.interpreters import interpreters

RAISES = """\
import asyncio, sys
from concurrent.futures import ProcessPoolExecutor
def look(key,
         table):
    return table[key]
def wrapped():
    with open(__file__):
        look(  # @wrapped
            "k",
            {},
        )
def handling(error):
    try:
        look("k", {})
    except KeyError as found:
        if error == "none":
            raise ValueError("new") from None
        if error == "cause":
            raise ValueError("new") from found
        raise ValueError("new")
def noted():
    error = ValueError("new")
    error.add_note("see the log")
    raise error
async def child(n):
    raise ValueError(f"child {n}")  # @child
async def parent():
    async with asyncio.TaskGroup() as group:
        group.create_task(child(1))
        group.create_task(child(2))
def worker():
    with ProcessPoolExecutor(1) as pool:
        pool.submit(look, "k", {}).result()
if __name__ == "__main__":
    what = sys.argv[1]
    if what in ("none", "cause", "context"):
        handling(what)
    elif what == "group":
        asyncio.run(parent())
    else:
        globals()[what]()
"""


@pytest.fixture
def raised(dbg, write_program):
    p = write_program("raising.py", RAISES)

    def start(what: str):
        return p, dbg.data("start", p.name, "--child", "ignore", "--", what)["stop"]["exception"]

    return start


def test_the_words_of_a_chain_are_those_of_a_traceback(raised, dbg):
    assert raised("none")[1]["links"] == []
    assert raised("cause")[1]["links"] == [{"relation": "cause", "words": "KeyError: 'k'"}]
    _, error = raised("context")
    assert error["causes"] == []
    assert error["links"] == [{"relation": "context", "words": "KeyError: 'k'"}]
    assert "while handling: KeyError: 'k'" in dbg("context").out


def test_a_call_written_over_several_lines_is_shown_as_that_call(raised):
    p, error = raised("wrapped")

    by_line = {f"raising.py:{line['line']}": line["text"] for line in error["traceback"]}
    assert by_line[p.at("wrapped")].startswith("look(")
    assert '"k", {}, )' in by_line[p.at("wrapped")]


def test_notes_groups_and_the_traceback_of_a_worker_are_told(raised):
    assert raised("noted")[1]["details"] == ["note: see the log"]
    p, error = raised("group")
    assert error["details"] == [
        f"{n}. ValueError: child {n} at {p.at('child')} in child" for n in (1, 2)
    ]
    details = raised("worker")[1]["details"]
    assert details[0] == "raised in a worker process:"
    assert any('raising.py", line 5, in look' in line for line in details)


@pytest.mark.parametrize("python", interpreters(), ids=str)
def test_an_exception_that_gevent_reports_is_uncaught_and_one_for_a_parent_is_not(
    dbg, write_program, python
):
    # Imitates gevent's hub, which catches what a greenlet raises, and greenlets with a parent.
    write_program("gevent/__init__.py", "")
    write_program(
        "gevent/hub.py",
        "class Hub:\n"
        "    NOT_ERROR = (SystemExit,)\n"
        "    def handle_error(self, context, type, value, tb):\n"
        "        print('reported', value)\n",
    )
    write_program(
        "greenlet.py",
        "import types\n"
        "current = types.SimpleNamespace(parent=None)\n"
        "def getcurrent():\n    return current\n",
    )
    write_program(
        "hubs.py",
        "import sys, threading, greenlet\n"
        "from gevent.hub import Hub\n"
        "def work(n):\n"
        "    raise ValueError(n)\n"
        "def run(n):\n"
        "    try:\n"
        "        work(n)\n"
        "    except ValueError:\n"
        "        Hub().handle_error(None, *sys.exc_info())\n"
        "greenlet.current.parent = object()\n"
        "run(2)\n"
        "thread = threading.Thread(target=work, args=(3,))\n"
        "thread.start(), thread.join()\n",
    )

    told = dbg("start", "hubs.py", "--interpreter", python.path).out

    assert "uncaught exception at hubs.py:4 in work\nexception: ValueError: 2\n" in told
    assert "n = 2" in told
    told = dbg("continue").out
    assert "exited: code 0" in told
    assert "| reported 2\n" in told
