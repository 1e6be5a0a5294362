"""The live page in a real browser: a person watches an agent, takes over, and hands back."""

from __future__ import annotations

import http.client
import os
import signal
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from harness import waits
from harness.browser import Browser, Page
from harness.users import STRANGER, is_root, run_as

#: daemons are killed, settings changed, pages left open
pytestmark = pytest.mark.own_daemon
READY = "document.documentElement.dataset.ready === '1'"
EVIL = "</script><img src=x onerror=\"document.title='owned'\">\x1b[31m\x00\u202e"
HOSTILE = f"""\
import sys
evil = {EVIL!r}
long = "x" * 10_000_000
table = {{evil: [evil] * 3, "n": list(range(1000))}}
print(evil, flush=True)
print("y" * 100_000, flush=True)
done = 1  # @here
raise ValueError(evil)
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def link_of(dbg) -> str:
    return str(dbg.data("web")["link"])


def text(page: Page, selector: str) -> str:
    return str(page.run(f"document.querySelector({selector!r}).textContent"))


def test_a_person_watches_takes_over_and_hands_back(dbg, program, browser):
    p = program("loop.py")
    link = link_of(dbg)
    with browser.page(link) as page:
        page.wait(READY)
        page.wait("document.querySelector('#code').textContent.includes('no session yet')")
        assert "token" not in page.run("location.href")

        # What the agent does is there as it happens.
        dbg("start", p.path, "-b", p.at("loop"))
        page.wait("S.length === 1")
        page.wait("document.querySelector('#code .here .inline')")
        assert "amount = 6" in text(page, "#code .here")
        assert "adding" in text(page, "#out")
        dbg("next")
        page.wait("S.length === 2 && at === 1", "the newest stop is shown")
        page.wait("document.querySelectorAll('#commandlist .ok').length >= 3")
        page.click("#commandlist details:last-child summary")
        assert "stopped: step at" in text(page, "#commandlist details:last-child pre")
        assert page.run("document.querySelector('#next').disabled")

        _try_every_control(page, dbg, p)

        page.key("T")
        page.wait("document.documentElement.dataset.own === ''")
        told = dbg("context")
        assert "note: a person handed back loop: " in told.out
        for action in (
            "next ×2",
            "step",
            "finish",
            "set --frame 0 'total = 100'",
            "eval --frame 0 total+1",
        ):
            assert action in told.out.partition("\n")[0]

        # The session ends, and what it was stays.
        dbg("breakpoint", "remove", "--all")
        dbg("continue")
        page.wait("document.querySelector('#exit').textContent.startsWith('code')")
        page.wait("document.querySelector('#take').disabled")
        page.wait("document.querySelector('#out').textContent.includes('total')")
        assert page.run("S.length") > 4
        assert not page.problems()


def _try_every_control(page: Page, dbg, p) -> None:
    stops = page.run("S.length")

    def stopped_again() -> None:
        nonlocal stops
        page.wait(f"S.length > {stops}")
        page.wait("!document.querySelector('#next').disabled")
        stops = page.run("S.length")

    page.click("#take")
    page.wait("document.documentElement.dataset.own === '1'")
    assert dbg.error("next")["code"] == "taken-over"
    page.click("#next")
    stopped_again()
    page.key("o")
    stopped_again()
    page.click("#step")
    stopped_again()
    page.click("#finish")
    stopped_again()

    # Variables are a tree whose parts come when they are opened.
    page.click("#tree")
    page.click(".tree .opens")
    page.wait("document.querySelector('.tree .children .node')")
    page.run("document.querySelector('.setter[aria-label=\"set total\"]').click()")
    page.wait("document.activeElement.getAttribute('aria-label') === 'new value of total'")
    page.type("100")
    page.key("Enter")
    page.wait("document.querySelector('.tree').textContent.includes('total = 100')")
    page.run("document.activeElement.blur()")
    page.key("e")
    page.type("total+1")
    page.key("Enter")
    page.wait("document.querySelector('#result').textContent.includes('101')")
    page.key("Escape")
    page.key("h")
    page.wait("document.querySelector('#threadlist').textContent.includes('MainThread')")

    # A breakpoint in the gutter, there and away again.
    line = p.at("last").rpartition(":")[2]
    page.click(f"#code [data-line='{line}'] .num")
    page.wait(f"document.querySelector('#code [data-line=\"{line}\"].bp')")
    page.click(f"#code [data-line='{p.at('loop').rpartition(':')[2]}'] .num")
    page.wait("document.querySelectorAll('#code .bp').length === 1")
    page.click("#continue")
    stopped_again()
    assert page.run("S[at].f[0][2]") == int(line)


def test_two_pages_and_a_closed_one_leave_one_owner_and_then_none(dbg, program, browser):
    dbg.configure("[timeouts]\ncontrol_s = 3\n")
    p = program("endless.py")
    dbg("start", p.path, "--no-wait")
    with browser.page(link_of(dbg)) as page:
        page.wait(READY)
        page.wait("!document.querySelector('#take').disabled")
        page.key("T")
        page.wait("!document.querySelector('#pause').disabled")
        other = browser.tab(page.run("location.href"), page.context)
        other.wait("document.querySelector('#owner').textContent.includes('a person has')")
        other.key("T")
        other.wait("document.documentElement.dataset.own === '1'")
        page.wait("document.querySelector('#owner').textContent.includes('a person has')")
        other.click("#pause")
        other.wait("!document.querySelector('#continue').disabled")
        assert dbg.error("continue")["code"] == "taken-over"
    answer = dbg("await")
    assert "note: a person left endless: pause; the program is stopped" in answer.out


def test_a_page_finds_the_next_daemon(dbg, program, browser):
    p = program("loop.py")
    dbg("start", p.path, "-b", p.at("loop"))
    daemon = dbg.data("status")["daemon_pid"]
    with browser.page(link_of(dbg)) as page:
        page.wait("S.length === 1")
        os.kill(daemon, signal.SIGKILL)
        page.wait("document.querySelector('#link').textContent !== 'live'")
        waits.wait_until(lambda: not dbg.daemon_lives(), "the daemon has gone")
        dbg("start", p.path, "-b", p.at("done"))
        page.wait("document.querySelector('#link').textContent === 'live'")
        page.wait("RUN.number === 2 && S.length === 1")
        assert not [each for each in page.problems() if "ERR_" not in each]


def test_hostile_values_are_text_and_stay_small(dbg, write_program, browser):
    p = write_program("hostile.py", HOSTILE)
    dbg("start", p.path, "-b", p.at("here"))
    with browser.page(link_of(dbg)) as page:
        page.wait("S.length === 1")
        dbg("continue")
        page.wait("S.length === 2")
        page.click("#tree")
        page.click(".tree .opens")
        page.wait("document.querySelector('.tree .children')")
        assert page.run("document.title") == "run 1: hostile"
        assert page.run("document.querySelectorAll('img, script:not([src])').length") == 0
        assert "</script>" in text(page, "#problem")
        assert page.run("document.body.textContent.length") < 2_000_000
        assert not page.problems()


def test_ten_thousand_stops_are_fluent(dbg, write_program, browser, tmp_path):
    from freezeframe.history import import_export
    from freezeframe.model.answers import Chunk
    from freezeframe.model.history import RecordedStop, Recording, SourceText
    from freezeframe.model.runs import Run
    from freezeframe.model.stops import Frame
    from freezeframe.model.values import Scope, ScopeKind, Value

    def stop(n: int) -> RecordedStop:
        values = (Value("n", str(n), "int"), Value("name", f"'{n}'", "str"))
        frames = (Frame(0, "f", "app.py", 1 + n % 3), Frame(1, "<module>", "app.py", 9))
        scopes = (Scope("Locals", ScopeKind.LOCALS, values),)
        return RecordedStop(n, n / 9, "breakpoint", 1, "main", frames, depth=2, scopes=scopes)

    run = Run(1, "app", "/p/app.py", (), "many", "some-debugger 1", 1e9, 3.5)
    stops = tuple(stop(n) for n in range(1, 10_001))
    sources = (SourceText("app.py", "a\n" * 9),)
    recording = Recording(run, "/p", stops, sources, (Chunk("stdout", "hello\n"),))
    file = tmp_path / "many.jsonl"
    file.write_text("".join(f"{line}\n" for line in import_export.lines(recording)))
    assert dbg("import", str(file)).code == 0
    with browser.page(link_of(dbg)) as page:
        page.wait("S.length === 10000")
        assert page.run("document.querySelectorAll('#list .row').length") < 60
        # A hundred selections, each drawn, as a person who holds the key down.
        page.key("Home")
        for _ in range(20):
            page.key("ArrowRight")
        assert page.run("S[at].n") == 21
        page.run("document.querySelector('#filter').value = 'n=9999'")
        page.run("document.querySelector('#filter').dispatchEvent(new Event('input'))")
        page.wait("shown.length === 1")
        assert not page.problems()


def answer_to(link: str, method: str, path: str = "", **headers: str) -> int:
    parts = urlsplit(link)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=20)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, parts.path + path, headers=named)
    return connection.getresponse().status


def test_nobody_else_gets_an_answer(dbg, program):
    p = program("loop.py")
    dbg("start", p.path, "-b", p.at("loop"))
    link = link_of(dbg)
    query = "?" + urlsplit(link).query

    assert answer_to(link, "GET") == 403
    assert answer_to(link, "GET", "?token=wrong") == 403
    assert answer_to(link, "GET", "page.css") == 403
    assert answer_to(link, "GET", "events?page=0123456789&run=1") == 403
    assert answer_to(link, "POST", "op", Origin="http://evil.example") == 403
    assert answer_to(link, "GET", query, Host="evil.example") == 421
    assert answer_to(link, "GET", query) == 200
    if is_root():
        # Even with the link, another user is not answered.
        def intrude() -> bytes:
            try:
                return str(answer_to(link, "GET", query)).encode()
            except (ConnectionError, http.client.HTTPException):
                return b"nothing"

        assert run_as(STRANGER, intrude) == b"nothing"
