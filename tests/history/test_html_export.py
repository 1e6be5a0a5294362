"""The page of a run, in a real browser: what it shows, how it is walked, what it never does."""

from __future__ import annotations

import contextlib
import re

import pytest

from freezeframe.history import html_export
from freezeframe.model.answers import Chunk
from freezeframe.model.history import RecordedStop, Recording, SourceText
from freezeframe.model.runs import Run
from freezeframe.model.stops import Exit, Frame
from freezeframe.model.values import Scope, ScopeKind, Value
from harness.browser import Browser, Page

SOURCE = "def total(items):\n    s = 0\n    for i in items:\n        s += i\n    return s\n"
EVIL = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='o'\">"


def stop(number, line, text="1", **facts):
    frames = (Frame(0, "total", "app.py", line), Frame(1, "<module>", "app.py", 7))
    values = (Value("s", str(number * 10), "int"), Value("name", text, "str"))
    return RecordedStop(
        number,
        number / 4,
        facts.pop("reason", "breakpoint"),
        1,
        "main",
        frames,
        depth=2,
        scopes=(Scope("Locals", ScopeKind.LOCALS, values),),
        cursor=number,
        command="continue",
        **facts,
    )


def recording(*stops, source=SOURCE, output="abcdef"):
    run = Run(7, "app", "/p/app.py", ("--x",), "bad", "some-debugger 1", 1e9, 3.5, exit=Exit(1))
    return Recording(run, "/p", stops, (SourceText("app.py", source),), (Chunk("stdout", output),))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page and return it once its script has run."""
    with contextlib.ExitStack() as pages:

        def show(text: str, address: str = "", *, faultless: bool = True) -> Page:
            file = tmp_path / "html_export.html"
            file.write_text(text, encoding="utf-8")
            page = pages.enter_context(browser.page(f"file://{file}{address}"))
            page.wait("document.documentElement.dataset.ready === '1'")
            assert not (faultless and page.problems())
            return page

        yield show


@pytest.fixture
def chromium(opened):
    """Open a page and return what it is made of once its script has run."""
    return lambda *args: opened(*args).run("document.documentElement.outerHTML")


def test_a_stop_is_shown_with_source_variables_changes_and_output(chromium):
    text = html_export.page(recording(stop(1, 4), stop(2, 4), stop(3, 4)))

    dom = chromium(text, "#2")

    assert 'data-ready="1"' in dom
    assert "<title>bad: app</title>" in dom
    assert re.search(r'class="here".*?s \+= i', re.sub(r"</?span[^>]*>", "", dom), re.DOTALL)
    assert re.search(r'<tr class="changed"><td class="name">s</td>', dom)
    assert '<span class="was">10</span>' in dom or 'class="was" title="10">10' in dom
    assert re.search(r'class="row on"[^>]*data-stop="2"|data-stop="2"', dom)
    assert '<span class="stdout">ab</span><span class="stdout later">cdef</span>' in dom
    assert "<polyline" in dom, "no trend of a number"
    assert "code 1" in dom


def test_what_a_program_says_is_never_markup(chromium):
    text = html_export.page(
        recording(
            stop(1, 4, EVIL, exception=EVIL, reason="exception"),
            source=f"# {EVIL}\n" * 5,
            output=EVIL,
        )
    )

    dom = chromium(text)

    assert "<title>bad: app</title>" in dom
    assert "owned" not in re.findall(r"<title>(.*?)</title>", dom)[0]
    assert "<img" not in dom
    assert "&lt;img" in dom


def test_the_page_needs_nothing_but_itself():
    text = html_export.page(recording(stop(1, 4)))

    assert not re.search(r"(?:src|href)\s*=\s*[\"']", text)
    assert "default-src 'none'" in text
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_a_run_without_stops_has_a_page_too(chromium):
    dom = chromium(html_export.page(recording()))

    assert "this run has no stops" in dom
    assert 'data-ready="1"' in dom


def test_keys_walk_through_the_stops(opened):
    text = html_export.page(recording(stop(1, 2), stop(2, 4), stop(3, 3), stop(4, 4)))

    page = opened(text, "?theme=dark#1")
    for key in ("ArrowRight", "n", "ArrowLeft", "t", "/"):
        page.key(key)

    # To the second stop, to the next one at its line, and one back.
    assert page.run("location.hash") == "#3"
    assert page.run("document.documentElement.dataset.theme") == "light"
    assert page.run("document.activeElement.id") == "filter"


def test_only_the_scripts_of_the_page_run(opened):
    text = html_export.page(recording(stop(1, 4)))
    text = text.replace("</body>", "<script>document.title = 'owned'</script></body>")

    assert opened(text, faultless=False).run("document.title") == "bad: app"


def test_ten_thousand_stops_open_at_once(chromium):
    many = [stop(n, 2 + n % 3) for n in range(1, 10_001)]

    dom = chromium(html_export.page(recording(*many)), "#9000")

    assert 'data-ready="1"' in dom
    assert 'data-stop="9000"' in dom
    assert dom.count('class="row') < 60, "rows that nobody sees are drawn"


def test_it_can_be_looked_at(opened, tmp_path):
    picture = tmp_path / "page.png"

    opened(html_export.page(recording(stop(1, 4), stop(2, 4)))).screenshot(picture)

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000, "an empty page"
