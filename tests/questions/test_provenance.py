"""Where values came from, by traces of real programs: the chain, and what ends it."""

from __future__ import annotations

import pytest
from tests.harness.traced_programs import PYTHONS, traced

from freezeframe.model.questions import Link, LinkKind, ReadValue

PRICE = """
    DATA = "fee=1;rate=3;discount=5;offset=6"

    def load():
        cfg = {}
        for line in DATA.split(";"):
            k, v = line.split("=")
            cfg[k] = int(v)
        return cfg

    def scale(cfg, f):
        cfg["rate"] = cfg["rate"] * f - cfg["offset"]

    def price(n, cfg):
        p = n * cfg["rate"]
        if n > 10:
            p = p - cfg["discount"]
        return p

    def main():
        cfg = load()
        scale(cfg, 2)
        prices = []
        for n in (1, 2, 12):
            prices.append(price(n, cfg))
        assert min(prices) >= 0

    main()
"""

MANY = """
    import asyncio
    import heapq
    import json
    from dataclasses import dataclass

    LIMIT = 3

    @dataclass
    class Item:
        name: str
        qty: int

    class Cart:
        def __init__(self, discount=0):
            self.items = []
            self.discount = discount
            self.total = 0

        def add(self, item):
            self.items.append(item)
            self.total += item.qty * 2

        @property
        def net(self):
            return self.total - self.discount

    def twice(x):
        x = x * 2
        return x

    def call(a, b=3, *rest, scale=1, **more):
        return (a + b) * scale

    def numbers(n):
        for i in range(n):
            yield i * 2

    def counter():
        n = 0
        def bump():
            nonlocal n
            n += 5
            return n
        bump()
        return bump()

    def find(rows, least):
        found = None
        for row in rows:
            if row > least:
                found = row
        return found

    def early(x):
        if x > 100:
            return 100
        return x

    def fact(n):
        if n <= 1:
            return 1
        return n * fact(n - 1)

    async def fetch(n):
        await asyncio.sleep(0)
        return n + 1

    def show(key, value):
        return f"{key}={value};"

    def main():
        x = 1
        two = twice(x) + twice(10)
        cart = Cart(discount=4)
        cart.add(Item("a", 7))
        alias = cart
        alias.discount = 9
        net = cart.net
        heap = [5, 1, 4]
        heapq.heapify(heap)
        smallest = heap[0]
        rows = json.loads("[1, 2, 3]")
        missing = find(rows, 10)
        star = call(*(4, 5), **{"scale": 2})
        first, *others = [3, 6, 9]
        fetched = asyncio.run(fetch(6))
        bumped = counter()
        evens = [each for each in numbers(4)]
        squares = [fact(i) for i in (1, 2, 3)]
        capped = early(250)
        limit = LIMIT * 2
        lines = "".join([show("a", 1), show("b", two), show("c", 3)])
        try:
            json.loads("{")
        except ValueError as error:
            problem = error
        if (walrus := two + 1) > 3:
            taken = walrus
        for position, item in enumerate(cart.items):
            last = item.qty
        chosen = x if net > 100 else two
        setattr(cart, "extra", limit)
        extra = cart.extra
        raise RuntimeError("end")

    main()
"""


@pytest.fixture(params=PYTHONS, ids=str)
def python(request: pytest.FixtureRequest) -> str:
    return str(request.param.path)


def _values(reads: tuple[ReadValue, ...]) -> dict[str, str]:
    return {each.expression: each.value for each in reads}


def _reads(link: Link) -> dict[str, str]:
    return _values(link.reads)


def test_a_chain_goes_through_calls_elements_and_branches_to_the_input(python: str) -> None:
    answer = traced(PRICE, python).why("min(prices)")

    assert answer.value == "-5"
    assert [(each.statement, each.old, each.new) for each in answer.links[:2]] == [
        ("p = p - cfg['discount']", "0", "-5"),
        ("p = n * cfg['rate']", None, "0"),
    ]
    decided = answer.links[0]
    relays = [each.statement for each in decided.via]
    assert relays == ["prices.append(price(n, cfg))", "return p"]
    assert [(each.text, each.taken) for each in decided.conditions] == [("n > 10", True)]
    assert [(each.expression, each.value) for each in decided.conditions[0].reads] == [("n", "12")]
    scaled = next(each for each in answer.links if each.function == "scale")
    assert (scaled.old, scaled.new, _reads(scaled)["f"]) == ("3", "0", "2")
    loaded = [each for each in answer.links if each.statement.startswith("k, v =")]
    assert {(each.iteration.round, each.iteration.of) for each in loaded if each.iteration} == {
        (2, 4),
        (3, 4),
        (4, 4),
    }


def test_each_link_made_a_value_that_the_link_above_it_read(python: str) -> None:
    answer = traced(PRICE, python).why("prices[2]")

    for link in answer.links:
        if link.explains is None:
            continue
        above = answer.links[link.explains]
        read = {*_reads(above).values(), above.old}
        read |= {each.value for at in above.conditions for each in at.reads}
        assert link.new in read or f"'{link.new}'" in read or (link.new or "").strip("'") in read


def test_the_part_that_differs_from_the_expected_value_is_followed(python: str) -> None:
    run = traced(PRICE, python)

    listed = run.why("prices", expected="[0, 0, 0]")
    mapped = run.why("cfg", expected="{'fee': 1, 'rate': 3, 'discount': 5, 'offset': 6}")

    assert (listed.part, listed.part_value) == ("prices[2]", "-5")
    assert listed.links[0].statement == "p = p - cfg['discount']"
    assert (mapped.part, mapped.links[0].function) == ("cfg['rate']", "scale")


def test_a_text_is_followed_into_the_call_that_wrote_the_differing_character(python: str) -> None:
    answer = traced(MANY, python).why("lines", depth=2, expected="'a=1;b=23;c=3;'")

    texts = [(each.statement, _reads(each).get("key")) for each in answer.links]
    assert ("return f'{key}={value};'", "'b'") in texts


@pytest.mark.parametrize(
    ("expression", "statement"),
    [
        ("net", "alias.discount = 9"),  # a field by the identity of its object
        ("net", "self.total += item.qty * 2"),
        ("star", "return (a + b) * scale"),
        ("evens[2]", "yield (i * 2)"),
        ("squares[2]", "return n * fact(n - 1)"),
        ("bumped", "n = 0"),
        ("fetched", "return n + 1"),
        ("limit", "LIMIT = 3"),
        ("capped", "return 100"),
        ("taken", "if (walrus := (two + 1)) > 3"),
        ("chosen", "two = twice(x) + twice(10)"),
        ("extra", "limit = LIMIT * 2"),
        ("last", "cart.add(Item('a', 7))"),
        ("problem", "json.loads('{')"),
        ("others[1]", "first, *others = [3, 6, 9]"),
    ],
)
def test_the_statement_that_made_a_value_is_in_its_chain(
    python: str, expression: str, statement: str
) -> None:
    assert statement in traced(MANY, python).statements(expression)


def test_a_call_is_found_by_its_position_and_a_name_by_its_frame(
    python: str,
) -> None:
    links = traced(MANY, python).why("two").links

    doubled = [(each.old, each.new) for each in links if each.statement == "x = x * 2"]
    assert sorted(doubled) == [("1", "2"), ("10", "20")]
    passed = [each for each in links if each.kind is LinkKind.ARGUMENT]
    assert [(each.target, each.new) for each in passed] == [("x", "10")]


def test_a_value_that_stayed_names_the_branch_that_was_not_taken(python: str) -> None:
    (kept,) = traced(MANY, python).why("missing").links

    assert (kept.statement, kept.new) == ("found = None", "None")
    (condition,) = kept.conditions
    assert (condition.text, condition.taken, condition.decisive) == ("row > least", False, True)
    assert {each.expression: each.value for each in condition.reads} == {"row": "3", "least": "10"}


def test_what_library_code_did_is_named_and_no_older_write_is_taken_for_it(python: str) -> None:
    run = traced(MANY, python)

    sorted_heap = run.why("smallest")
    loaded = run.why("rows")

    assert sorted_heap.links[0].statement == "heapq.heapify(heap)"
    assert (sorted_heap.links[0].old, sorted_heap.links[0].new) == ("5", "1")
    assert loaded.links[0].note == "json.loads() was not traced"


def test_a_return_behind_a_loop_names_the_returns_that_were_not_taken(python: str) -> None:
    run = traced(
        """
        def find(rows, least):
            for row in rows:
                if row > least:
                    return row
                elif row < 0:
                    return -row
            return []

        def main():
            found = find([1, 2], 5)
            raise RuntimeError

        main()
        """,
        python,
    )

    (link,) = run.why("found").links

    assert link.statement == "return []"
    assert [(each.text, each.taken, _values(each.reads)) for each in link.conditions] == [
        ("row < 0", False, {"row": "2"}),
        ("row > least", False, {"row": "2", "least": "5"}),
    ]


def test_texts_of_objects_are_those_of_the_moment_whoever_changed_them(python: str) -> None:
    run = traced(
        """
        from collections import defaultdict

        class Store:
            prices = {
                "pen": 2,
                "cup": 7,
            }

        class Stock(Store):
            limit = 3
            def __init__(self):
                self.items = {}

        def main():
            words = defaultdict(list)
            for word in ["a", "bb", "cc"]:
                words[len(word)].append(word)
            stock = Stock()
            vars(stock)["items"]["x"] = 1
            most = max(words.items())
            shown = len(stock.items) + 0
            raise RuntimeError

        main()
        """,
        python,
    )

    assert run.why("most").value == "(2, ['bb', 'cc'])"
    assert run.why("words[2][1]").links[0].statement == "for word in ['a', 'bb', 'cc']"
    assert _reads(run.why("shown").links[0])["stock.items"] == "{'x': 1}"
    [limit] = run.why("stock.limit").links
    assert (limit.function, limit.statement, limit.new) == ("Stock", "limit = 3", "3")
    [price] = run.why("stock.prices['cup']").links
    assert (price.function, price.statement, price.new) == ("Store", '"cup": 7,', "7")
    missing = run.why("stock.size")
    assert (missing.links, len(missing.ends)) == ((), 1)
    assert "is not a field of its object" in missing.ends[0]


def test_the_exception_of_an_except_clause_leads_to_its_branch(python: str) -> None:
    run = traced(
        """
        def number(text):
            try:
                n = int(text)
            except ValueError as error:
                n = -1
            return n

        def main():
            value = number("x1")
            raise RuntimeError

        main()
        """,
        python,
    )

    (link,) = run.why("value").links

    assert link.statement == "n = -1"
    assert (link.conditions[0].exception or "").startswith("ValueError: invalid literal")


def test_recursion_a_thousand_deep_is_one_chain_with_its_relays_folded(python: str) -> None:
    run = traced(
        """
        import sys
        sys.setrecursionlimit(5000)

        def down(n, value):
            if n == 0:
                return value
            return down(n - 1, value)

        def main():
            start = 3 * 7
            end = down(900, start)
            raise RuntimeError

        main()
        """,
        python,
    )

    (link,) = run.why("end").links

    assert (link.statement, link.new) == ("start = 3 * 7", "21")
    assert len(link.via) <= 4


def test_a_chain_is_cut_at_its_depth_and_names_what_it_did_not_follow(python: str) -> None:
    answer = traced(PRICE, python).why("min(prices)", depth=2)

    assert len(answer.links) == 2
    assert "cfg['rate']" in answer.left_out


def test_an_unknown_name_and_a_fragment_have_no_chain(python: str) -> None:
    run = traced(PRICE, python)

    assert run.why("nonesuch").ends == ("the trace does not say where nonesuch was set",)
    assert run.why("1 +").ends == ("1 + cannot be read as an expression",)


def test_returns_inside_of_with_and_finally_and_branches_of_one_line_are_found(python: str) -> None:
    run = traced(
        """
        def last(x):
            try:
                return x * 2
            finally:
                x = 0

        def inside(x):
            with open(__file__) as file:
                return x + 1

        def none(x):
            if x: return None
            kept = 1

        def main():
            doubled = last(4)
            raised = inside(2)
            for n in (0, 1):
                if n: chosen = n
            nothing = none(0)
            raise RuntimeError

        main()
        """,
        python,
    )

    assert run.statements("doubled")[0] == "return x * 2"
    assert run.statements("raised")[0] == "return x + 1"
    chosen = run.why("chosen").links[0]
    assert chosen.iteration is not None
    assert chosen.iteration.round == 2
    ended = run.why("nothing").links[0]
    assert ended.note == "none ended here without a value"
    assert [(each.text, each.taken) for each in ended.conditions] == [("x", False)]


def test_equal_values_of_different_names_are_not_confused(python: str) -> None:
    run = traced(
        """
        def main():
            one = 0 + 1
            other = 2 - 1
            made = {}
            made.update(a=one, b=other)
            first = made["a"]
            rows = [one, 7]
            rows.reverse()
            second = rows[0]
            kept = [5, 6]
            del kept[0]
            third = kept[0]
            raise RuntimeError

        main()
        """,
        python,
    )

    assert "other = 2 - 1" not in run.statements("first")
    assert run.statements("first")[-1] == "one = 0 + 1"
    assert run.statements("second")[0] == "rows.reverse()"
    assert run.statements("third")[0] == "del kept[0]"


def test_what_was_put_into_an_object_of_a_library_is_part_of_its_chain(python: str) -> None:
    run = traced(
        """
        import array

        def main():
            one = 2 + 3
            table = array.array("i", [0, 0])
            table[1] = one
            total = sum(table)
            raise RuntimeError

        main()
        """,
        python,
    )

    statements = run.statements("total")

    assert statements[:2] == ["total = sum(table)", "table[1] = one"]
    assert "one = 2 + 3" in statements
    assert "table = array.array('i', [0, 0])" in statements


def test_values_are_followed_through_lists_texts_and_callbacks(python: str) -> None:
    run = traced(
        """
        import queue
        import re

        def plain(function):
            def wrapper(*args, **kwargs):
                return function(*args, **kwargs)
            return wrapper

        def low(month):
            return month % 3

        @plain
        def half(amount):
            return amount / 2

        def shown(match):
            word = match.group(0)
            return words[word]

        def check(text):
            if not text:
                raise ValueError("empty")
            return text

        class raises:
            def __enter__(self):
                return self
            def __exit__(self, *error):
                self.value = error[1]
                return True

        words = {"a": "ant"}

        def main():
            numbers = []
            numbers += [each for each in range(low(6), 9, 4) if each not in numbers]
            while len(numbers) > 1:
                last = numbers.pop()
            first = numbers.pop()
            text = re.sub("[a-z]", shown, "1 a 2").strip()
            waiting = queue.Queue()
            waiting.put(low(8))
            waiting.put_nowait(low(7))
            waiting.get()
            job = waiting.get()
            rows = []
            for each in (3, 4):
                rows.append(each + 1)
            most = sum(rows)
            count = low(5)
            share = half(count)
            lines = []
            for each in range(9):
                lines.append("-" * 20)
                lines.append(f"row {each}")
            page = "|".join(lines)
            with raises() as caught:
                check("")
            with raises():
                check("x")
            raise RuntimeError

        main()
        """,
        python,
    )

    made = [each.statement for each in run.why("first").links]
    assert made[:2] == [
        "first = numbers.pop()",
        "numbers += [each for each in range(low(6), 9, 4) if each not in numbers]",
    ]
    assert "return month % 3" in made

    text = [each.statement for each in run.why("text").links]
    assert text == [
        "text = re.sub('[a-z]', shown, '1 a 2').strip()",
        "word = match.group(0)",
        "words = {'a': 'ant'}",
    ]

    job = run.why("job").links
    assert [each.statement for each in job][:2] == [
        "job = waiting.get()",
        "waiting.put_nowait(low(7))",
    ]
    assert job[1].note == "Queue is not traced: probably changed here"
    most = [each.statement for each in run.why("most").links]
    assert most[:2] == ["most = sum(rows)", "rows.append(each + 1)"]
    assert "rows = []" not in most
    share = [each.statement for each in run.why("share").links]
    assert share[:2] == ["return amount / 2", "return month % 3"]

    page = run.why("page").value or ""
    wrong = run.why("page", expected=page.replace("row 5", "row X")).links
    row = next(each for each in wrong if "row" in each.statement)
    assert (row.new, row.iteration and row.iteration.round) == ("'row 5'", 6)

    caught = run.why("caught.value").links[0]
    assert (caught.kind, caught.statement) == (LinkKind.RAISED, "raise ValueError('empty')")
    assert caught.conditions[0].text == "not text"
