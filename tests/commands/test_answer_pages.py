"""The pages of answers, in a real browser: two runs side by side, a chain, many runs."""

from __future__ import annotations

import contextlib
import sys

import pytest

from harness.browser import Browser

_CART = """\
import sys


def price(net, quantity):
    if quantity >= 10:
        net = net * 2
    return net * quantity


def total(quantities):
    amount = 0
    for quantity in quantities:
        amount = amount + price(5, quantity)
    return amount


password = "hun" + "ter2-hunt" + "er2"
amount = total([int(each) for each in sys.argv[1:]])
print("total", amount)
assert amount < 100, amount
"""
_ORDER = """\
names = {"alpha", "beta", "gamma", "delta"}
order = list(names)
assert order[0] != "gamma", "</script><img src=x>"
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def opened(browser, dbg, project):
    """Export the latest answer of a question and open it."""
    with contextlib.ExitStack() as pages:

        def show(question):
            dbg("export", "--answer", question, "page.html", "--force")
            page = pages.enter_context(browser.page(f"file://{project / 'page.html'}"))
            page.wait("document.documentElement.dataset.ready === '1'")
            assert not page.problems()
            return page

        yield show


def _texts(page, selector):
    elements = f"[...document.querySelectorAll({selector!r})]"
    return page.run(f"{elements}.map(each => each.textContent.replace(/\\s+/g, ' ').trim())")


def test_a_diff_is_shown_side_by_side_with_the_divergence_marked(dbg, write_program, opened):
    write_program("cart.py", _CART)
    run = f"{sys.executable} cart.py"
    answer = dbg.envelope("diff", f"{run} 3 4", f"{run} 3 40")
    assert "export --answer diff diff.html" in answer["next"]

    page = opened("diff")

    # One row on each side, the line itself and where each run went on.
    assert _texts(page, ".parts.at") == [
        "5 if quantity >= 10:the runs part herequantity = 4",
        "5 if quantity >= 10:the runs part herequantity = 40",
    ]
    assert [each.partition(" ")[0] for each in _texts(page, ".went")] == ["7", "6"]
    assert "not executed" in _texts(page, ".steps .none")
    assert _texts(page, ".differs") == ["total 35", "total 415"]
    page.key("ArrowDown")
    assert _texts(page, ".steps tr.on") == ["not executed6net = net * 2net = 10"]
    page.click(".way button:last-child")
    assert _texts(page, ".parts")[0].startswith("20assert amount < 100")
    assert "hunter2" not in page.run("document.documentElement.outerHTML")
    page.click("nav.tabs button:last-child")
    assert "amount" in page.run("document.getElementById('values').textContent")

    # Without the recorded run the answer is still there.
    dbg("prune", "--all")
    page = opened("diff")
    assert _texts(page, "nav.tabs button") == ["Divergence"]
    assert len(_texts(page, ".parts")) == 2


def test_a_chain_is_shown_as_arrows_in_the_source(dbg, write_program, opened):
    write_program("cart.py", _CART)
    dbg("start", "cart.py", "-b", "cart.py:20", "--", "3", "40")
    answer = dbg.envelope("why", "amount")
    assert "export --answer why why.html" in answer["next"]
    links = answer["data"]["links"]

    page = opened("why")

    assert len(_texts(page, ".sheets .ball")) == len(links)
    page.wait("document.querySelector('.sheets path') !== null")
    arrows = page.run(
        "[...document.querySelectorAll('path[data-from]')]"
        ".map(each => [+each.dataset.from, +each.dataset.to])"
    )
    explained = [(at, link.get("explains")) for at, link in enumerate(links)]
    expected = [[at + 1, to + 1] for at, to in explained if to is not None]
    assert len(expected) > 1
    assert sorted(arrows) == sorted(expected)
    assert "amount = amount + price(5, quantity)" in _texts(page, ".card.on")[0]


def test_a_hunt_is_shown_as_a_grid_of_runs(dbg, write_program, opened):
    write_program("order.py", _ORDER)
    answer = dbg.envelope("hunt", "--runs", 30, "--", sys.executable, "order.py")
    assert "export --answer hunt hunt.html" in answer["next"]
    failed = answer["data"]["failures"]
    assert 0 < failed < 30

    page = opened("hunt")

    assert len(_texts(page, ".cell[data-result=failed]")) == failed
    assert len(_texts(page, ".cell[data-result=passed]")) == 30 - failed
    page.click(".cell[data-result=failed]")
    assert "</script><img src=x>" in _texts(page, ".many .summary")[0]
    assert page.run("document.images.length") == 0
    page.click(".go")
    assert not page.run("document.body.classList.contains('answering')")


def test_without_an_answer_the_error_names_the_question(dbg):
    refused = dbg.error("export", "--answer", "diff", "x.html")

    assert refused["message"] == "there is no answer of diff in this workspace yet."
    assert refused["next"] == "dbg help diff"
