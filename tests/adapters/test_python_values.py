"""What Python values look like in an answer, and what is reported as changed."""

from __future__ import annotations

import pytest

from harness.reports import changed, changes, printed, texts, values


def at_last_line(dbg, write_program, body, *, before=""):
    """Stop in a function whose lines are *body*, at its last one."""
    lines = [f"    {line}" for line in body.strip().splitlines()]
    text = f"{before}\ndef work():\n" + "\n".join(lines) + "\n    return None  # @here\n\nwork()\n"
    p = write_program("shown.py", text)
    return dbg.data("start", p.name, "-b", p.at("here"))


# --- what a value looks like --------------------------------------------------------------------


def test_small_values_are_shown_as_python_writes_them(dbg, write_program):
    report = at_last_line(
        dbg,
        write_program,
        "nothing = None\nempty = []\ntext = ''\nflag = True\none = (1,)\nsome = {'a': [1, 2]}\n"
        "members = set()\nfixed = frozenset({1})\nraw = b'\\x00'\nwhole = range(3)",
    )

    shown = {name: value["text"] for name, value in values(report).items()}
    assert shown == {
        "nothing": "None",
        "empty": "[]",
        "text": "''",
        "flag": "True",
        "one": "(1,)",
        "some": "{'a': [1, 2]}",
        "members": "set()",
        "fixed": "frozenset({1})",
        "raw": "b'\\x00'",
        "whole": "range(0, 3)",
    }


def test_huge_values_fit_the_budget_and_tell_their_size(dbg, write_program):
    at_last_line(
        dbg,
        write_program,
        "text = 'x' * 50_000_000\nrows = {f'k{i}': i for i in range(10_000)}\n"
        "many = list(range(1_000_000))\nnumber = 10 ** 100_000\ndeep = []\n"
        "for _ in range(500): deep = [deep]\nloop = []\nloop.append(loop)",
    )

    report = dbg("context")
    assert len(report.out) < 1500
    assert "chars…x" in report.out
    assert "… 10,000 items}" in report.out
    assert "… 1,000,000 items]" in report.out
    assert "loop = [[…]]" in report.out
    for name in ("text", "rows", "many", "number", "deep"):
        assert len(dbg("print", name, "--budget", "100").out.encode()) <= 300


def test_a_page_has_the_real_names_and_the_size_of_the_whole(dbg, write_program):
    at_last_line(
        dbg,
        write_program,
        "text = 'abc' * 1000\nrows = {f'k{i}': i for i in range(10_000)}\n"
        "many = list(range(1_000_000))\nqueue = deque(range(1000))\nspan = range(5000)\n"
        "members = set(range(100))\npair = Pair(1, 2)\nview = rows.keys()",
        before="from collections import deque, namedtuple\nPair = namedtuple('Pair', 'left right')",
    )

    def page(expression, where):
        value = dbg.data("print", expression, "--range", where)["value"]
        return value["count"], [(child["name"], child["text"]) for child in value["children"]]

    assert page("many", "999998:2000000") == (
        1_000_000,
        [("999998", "999998"), ("999999", "999999")],
    )
    assert page("rows", "9000:9001") == (10_000, [("'k9000'", "9000")])
    assert page("queue", "7:8") == (1000, [("7", "7")])
    assert page("span", "7:8") == (5000, [("7", "7")])
    assert page("members", "7:8") == (100, [("7", "7")])
    assert page("pair", "1:2") == (2, [("right", "2")])
    assert page("view", "3:4") == (10_000, [("3", "'k3'")])
    assert page("many", "2000000:2000001") == (1_000_000, [])
    text = dbg.data("print", "text", "--range", "1:4")["value"]
    assert (text["text"], text["count"]) == ("'bca'", 3000)


def test_looking_never_uses_up_an_iterator(dbg, write_program):
    at_last_line(dbg, write_program, "numbers = (n for n in range(3))\nletters = iter('ab')")

    for name in ("numbers", "letters"):
        dbg("print", name, "--depth", "2")
        assert "would use it up" in dbg.error("print", name, "--range", "0:1")["message"]
    assert dbg.data("eval", "list(numbers), list(letters)")["value"]["text"] == (
        "([0, 1, 2], ['a', 'b'])"
    )


def test_objects_are_shown_by_their_fields_and_no_property_runs(dbg, write_program):
    report = at_last_line(
        dbg,
        write_program,
        "plain = Plain()\nslotted = Slotted()",
        before=(
            "class Plain:\n"
            "    shared = 1\n"
            "    def __init__(self): self.a, self._b = 1, [2]\n"
            "    @property\n"
            "    def area(self): print('a property ran')\n"
            "class Slotted:\n"
            "    __slots__ = ('x', 'unset')\n"
            "    def __init__(self): self.x = 'y'\n"
        ),
    )

    assert values(report)["plain"]["text"] == "Plain(a=1, _b=[2])"
    assert values(report)["slotted"]["text"] == "Slotted(x='y')"
    assert "a property ran" not in dbg("print", "plain", "--depth", "2").out


def test_objects_in_c_are_shown_by_what_they_hold_and_the_debugger_s_part_is_not(
    dbg, write_program
):
    report = at_last_line(
        dbg,
        write_program,
        "number = ctypes.c_int(42)\ndice = Dice()\ndone, failed, waits = asyncio.run(main())\n"
        "error = failed.exception()\nthread = threading.Thread(target=main)\n"
        "thread.run = lambda: None\nthread.start(); thread.join()",
        before=(
            "import _random, asyncio, ctypes, threading\n"
            "class Dice(_random.Random):\n"
            "    __slots__ = ()\n"
            "async def fail(): raise ValueError('b')\n"
            "async def main():\n"
            "    tasks = [asyncio.create_task(asyncio.sleep(0, 7), name='one')]\n"
            "    tasks.append(asyncio.create_task(fail(), name='two'))\n"
            "    await asyncio.wait(tasks)\n"
            "    return (*tasks, asyncio.get_running_loop().create_future())\n"
        ),
    )

    shown = {name: value["text"] for name, value in values(report).items()}
    assert shown["number"] == "c_int(value=42)"
    assert " object at 0x" in shown["dice"]
    assert shown["done"] == "Task(name='one', state='FINISHED', result=7)"
    assert shown["failed"] == "Task(name='two', state='FINISHED', exception=ValueError('b'))"
    assert (shown["waits"], shown["error"]) == ("Future(state='PENDING')", "ValueError('b')")
    assert "pydev" not in dbg("locals", "--budget", "9000").out


def test_a_change_of_what_c_keeps_is_told_and_looking_leaves_no_trace(dbg, write_program):
    p = write_program(
        "kept.py",
        "import ctypes, pathlib, queue, weakref\n"
        "class S(ctypes.Structure):\n"
        "    _fields_ = [('n', ctypes.c_int), ('t', ctypes.c_char * 4), ('p', ctypes.c_char_p)]\n"
        "def main():\n"
        "    held = bytearray(b'abc')\n"
        "    view, row, pair = memoryview(held), (ctypes.c_int * 3)(1, 2, 3), S(1, b'ab')\n"
        "    ctypes.memmove(ctypes.addressof(pair) + 8, b'\\x08' + bytes(7), 8)\n"
        "    jobs, near = queue.SimpleQueue(), weakref.proxy(main)\n"
        "    path, kind, either = pathlib.Path('/a'), list[int], int | None\n"
        "    held[0], row[1], pair.n = 122, 20, 7; jobs.put(1)  # @change\n"
        "    traces = hasattr(path, '_str')  # @after\n"
        "    return traces  # @end\n"
        "main()\n",
    )

    shown = texts(dbg.data("start", p.name, "-b", p.at("change")))
    assert (shown["view"], shown["row"]) == ("memoryview(b'abc')", "c_int_Array_3(1, 2, 3)")
    assert (shown["pair"], shown["jobs"]) == ("S(n=1, t=b'ab')", "SimpleQueue(0 items)")
    assert (shown["kind"], shown["either"]) == ("list[int]", "int | None")
    assert shown["near"].startswith("<weakproxy to function at 0x")

    report = dbg("next").out
    for line in (
        "* view = memoryview(b'zbc') (was memoryview(b'abc'))",
        "* row = c_int_Array_3(1, 20, 3) (was c_int_Array_3(1, 2, 3))",
        "* pair = S(n=7, t=b'ab') (was S(n=1, t=b'ab'))",
        "* jobs = SimpleQueue(1 item) (was SimpleQueue(0 items))",
    ):
        assert line in report
    assert "* path" not in report
    assert texts(dbg.data("next"))["traces"] == "False"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('boom')", "__repr__ raised ValueError: boom"),
        ("return 5", "__repr__ returned a int"),
        ("raise SystemExit(3)", "__repr__ raised SystemExit: 3"),
        ("return repr(self)", "RecursionError"),
        ("while True: pass", "took too long"),
    ],
)
def test_a_bad_repr_harms_nobody(dbg, write_program, body, reason):
    report = at_last_line(
        dbg,
        write_program,
        "bad = Bad()\ninside = [Bad()]\nfine = 1",
        before=f"class Bad:\n    def __repr__(self):\n        {body}\n",
    )

    # Unasked it is not called.
    assert texts(report) == {"bad": "Bad()", "inside": "[Bad()]", "fine": "1"}
    bad = dbg.data("print", "bad")["value"]
    assert bad["failed"]
    assert reason in bad["text"]
    assert dbg.data("print", "inside")["value"]["text"].startswith("[<Bad: ")
    assert dbg.data("continue")["exit"]["code"] == 0


def test_variables_come_in_the_order_of_the_program_without_its_definitions(dbg, write_program):
    p = write_program(
        "ordered.py",
        "import os\n"
        "from typing import Any\n"
        "limit = 3\n"
        "def work(zeta, alpha, *rest, key=None, **other):\n"
        "    middle = 1\n"
        "    callback = print\n"
        "    return middle  # @inside\n"
        "class A: pass\n"
        "work(1, 2, 3, key=4, more=5)\n"
        "print('end')  # @module\n",
    )

    report = dbg.data("start", p.name, "-b", p.at("inside"), "-b", p.at("module"))
    assert list(values(report)) == [
        "zeta", "alpha", "rest", "key", "other", "middle", "callback",
    ]  # fmt: skip

    report = dbg.data("continue")
    assert list(values(report)) == ["limit"]
    assert report["scopes"][0]["definitions"] == 4
    assert list(values(dbg.data("locals", "--all"))) == ["os", "Any", "limit", "work", "A"]


def test_what_a_statement_prints_is_told_once(dbg, write_program):
    at_last_line(dbg, write_program, "x = 1")

    assert printed(dbg.data("eval", "for i in range(2): print(i)")) == "0\n1\n"
    assert printed(dbg.data("eval", "print('once')")) == "once\n"
    assert printed(dbg.data("continue")) == ""


# --- what changed -------------------------------------------------------------------------------


def told(report):
    """Return path → (text, was) of everything that is marked."""
    return {
        change["name"]: (change["text"], change["was"])
        for value in values(report).values()
        for change in changes(value)
    }


def passes(dbg, write_program, start, step, *, before="", more=""):
    """Stop twice in a loop that does *step*, and return the second report."""
    p = write_program(
        "loop.py",
        f"{before}\ndef run():\n"
        + "".join(f"    {line}\n" for line in start.splitlines())
        + "    for i in (1, 2):\n"
        + "".join(f"        {line}\n" for line in step.splitlines())
        + f"        pass  # @pass\n{more}\nrun()\n",
    )
    first = dbg.data("start", p.name, "-b", p.at("pass"))
    assert not changed(first), "nothing has changed at the first look"
    return dbg.data("continue")


def test_a_change_deep_inside_is_told_by_its_path(dbg, write_program):
    report = passes(
        dbg,
        write_program,
        "cart = Cart()\nbig = list(range(5000))\nrows = {f'k{i}': i for i in range(10_000)}\n"
        "tree = {'a': {'b': {'c': {'d': [1, {'e': 0}]}}}}\nmembers = set(range(500))",
        "cart.owner.address.street = f'Elm {i}'\ncart.items.append(Item(i))\nbig[4000] = -i\n"
        "rows['k9000'] = -i\ntree['a']['b']['c']['d'][1]['e'] += 1\nmembers.add(1000 + i)",
        before=(
            "from types import SimpleNamespace\n"
            "class Item:\n"
            "    def __init__(self, n): self.n = n\n"
            "class Cart:\n"
            "    def __init__(self):\n"
            "        self.items = []\n"
            "        self.owner = SimpleNamespace(address=SimpleNamespace(street='Elm'))\n"
            "    def __repr__(self): return '<a cart>'\n"
        ),
    )

    assert told(report) == {
        "cart.items[1]": ("Item(n=2)", None),
        "cart.owner.address.street": ("'Elm 2'", "'Elm 1'"),
        "big[4000]": ("-2", "-1"),
        "rows['k9000']": ("-2", "-1"),
        "tree['a']['b']['c']['d'][1]['e']": ("2", "1"),
        "members has 1002": ("True", "False"),
        "i": ("2", "1"),
    }


def test_a_change_that_several_variables_lead_to_is_told_once(dbg, write_program):
    report = passes(
        dbg,
        write_program,
        "shop = Shop()\ncart = shop.cart\nitems = cart.items\nboth = [items, shop]\n"
        "work = concurrent.futures.ThreadPoolExecutor()\nwork._box = []",
        "items.append(i)\nwork._thread_name_prefix = 'n' * i\nwork._box.append(i)",
        before=(
            "import concurrent.futures\n"
            "class Cart:\n    def __init__(self): self.items = []\n"
            "class Shop:\n    def __init__(self): self.cart = Cart()\n"
        ),
    )

    parts = {name: value["parts"] for name, value in values(report).items()}
    same = {name: value["same_change_as"] for name, value in values(report).items()}
    assert [part["name"] for part in parts.pop("items")] == ["items[1]"], "by the shortest path"
    assert {same.pop(name) for name in ("shop", "cart", "both")} == {"items"}
    assert [part["name"] for part in parts.pop("work")] == ["work._thread_name_prefix"]
    assert values(report)["work"]["more_parts"], "inside a library's private field: counted"
    assert not any(parts.values())
    assert not any(same.values())
    assert "* shop = Shop(cart=Cart(items=[1, 2])) (same change as items)" in dbg("locals").out


def test_only_what_really_changed_is_marked(dbg, write_program):
    report = passes(
        dbg,
        write_program,
        "loop = []\nloop.append(loop)",
        "same = {'a': [1, 2]}\nother = dict(reversed(list({'x': 1, 'y': 2}.items())))\n"
        "members = {str(n) for n in range(20)}\nthing = Thing()\nfunction = lambda: 0\n"
        "lines = iter([])\nkind = Thing\nnumber = float('nan')",
        before="class Thing:\n    def __init__(self): self.x = [1]\n",
    )

    assert changed(report) == {"i"}


def test_a_moved_list_is_told_by_what_came_and_went(dbg, write_program):
    report = passes(dbg, write_program, "queue = list(range(100, 200))", "queue.pop(0)")

    queue = values(report)["queue"]
    assert [(part["name"], part["gone"], part["was"]) for part in queue["parts"]] == [
        ("queue[0]", True, "101")
    ]


def test_new_and_vanished_names_are_told(dbg, write_program):
    report = passes(
        dbg,
        write_program,
        "temporary = 7",
        "if i == 2:\n    del temporary\n    fresh = 1",
    )

    assert (values(report)["fresh"]["changed"], values(report)["fresh"]["was"]) == (True, None)
    (scope,) = report["scopes"]
    assert [(value["name"], value["was"]) for value in scope["gone"]] == [("temporary", "7")]
    assert "* temporary is gone (was 7)" in dbg("context").out


def test_another_call_of_the_same_function_is_another_frame(dbg, write_program):
    p = write_program(
        "fib.py",
        "def fib(n):\n"
        "    if n < 2:\n"
        "        return n  # @leaf\n"
        "    return fib(n - 1) + fib(n - 2)\n"
        "for each in (1, 0, 1):\n"
        "    fib(each)\n"
        "fib(4)\n",
    )

    report = dbg.data("start", p.name, "-b", p.at("leaf"))
    while report["stop"] is not None:
        assert not changed(report)
        report = dbg.data("continue")


def test_a_caller_that_is_returned_to_remembers_what_it_had(dbg, write_program):
    p = write_program(
        "caller.py",
        "def inner(box):\n"
        "    box.append(1)  # @inner\n"
        "def outer():\n"
        "    box = []\n"
        "    inner(box)  # @outer\n"
        "    return box\n"
        "outer()\n",
    )

    dbg.data("start", p.name, "-b", p.at("outer"))
    dbg.data("step")
    report = dbg.data("finish")
    assert told(report).keys() <= {"box[0]", "box"}
    assert changed(report) == {"box"}


def test_what_was_changed_from_outside_is_not_the_next_step_s_doing(dbg, write_program):
    p = write_program(
        "asked.py",
        "class Query:\n"
        "    def __init__(self): self.text = None\n"
        "    def __repr__(self):\n"
        "        self.text = 'SELECT'\n"
        "        return 'query'\n"
        "def work():\n"
        "    q = Query()\n"
        "    n = 1\n"
        "    a = 1  # @here\n"
        "    b = 2\n"
        "    c = 3\n"
        "work()\n",
    )

    report = dbg.data("start", p.name, "-b", p.at("here"))
    assert texts(report)["q"] == "Query(text=None)"
    assert dbg.data("print", "q")["value"]["text"] == "query"
    dbg.data("eval", "n = 7")
    report = dbg.data("context")
    assert (texts(report)["q"], texts(report)["n"]) == ("Query(text='SELECT')", "7")
    assert not changed(report)
    assert changed(dbg.data("next")) == {"a"}
    dbg.data("set", "n", "8")
    assert changed(dbg.data("context")) == {"a"}
    assert changed(dbg.data("next")) == {"b"}


@pytest.mark.parametrize("adapter", ["debugpy", "pdb"])
def test_an_assignment_reaches_the_variable_that_the_program_reads(dbg, write_program, adapter):
    p = write_program(
        "scopes.py",
        "LIMIT = 10\n"
        "def outer():\n"
        "    total = 0\n"
        "    def inner():\n"
        "        own = total\n"
        "        print(own, total, LIMIT)  # @here\n"
        "    inner()\n"
        "    print(total)\n"
        "outer()\n"
        "print(LIMIT)\n",
    )
    dbg.data("start", p.name, "-b", p.at("here"), "--adapter", adapter)

    assert dbg.data("set", "LIMIT", "100")["value"]["text"] == "100"
    dbg.data("eval", "LIMIT += 1")
    dbg.data("set", "total", "5")
    for words in (("set", "LIMTI", "1"), ("eval", "LIMTI = 1")):
        message = dbg.error(*words)["message"]
        assert "no variable LIMTI to assign to; there are LIMIT, " in message
    assert printed(dbg.data("continue")) == "0 5 101\n5\n101\n"


@pytest.mark.parametrize("adapter", ["debugpy", "pdb"])
def test_an_expression_that_would_end_the_program_says_so_at_once(dbg, write_program, adapter):
    p = write_program("ends.py", "import sys\nx = 1\nprint(x)  # @here\n")
    dbg.data("start", p.name, "-b", p.at("here"), "--adapter", adapter)

    for words in (("print", "sys.exit(3)"), ("eval", "raise SystemExit(3)")):
        assert "SystemExit: 3" in dbg.error(*words)["message"]
    code = "(_ for _ in ()).throw(KeyboardInterrupt)"
    assert "KeyboardInterrupt" in dbg.error("print", code)["message"]
    assert printed(dbg.data("continue")) == "1\n"


def test_huge_numbers_are_shown_in_any_base(dbg, write_program):
    at_last_line(dbg, write_program, "n = 10 ** 5000\nempty = [set()]")

    shown = dbg.data("print", "n", "--format", "decimal")["value"]["text"]
    assert (shown[:3], len(shown), set(shown[1:])) == ("100", 5001, {"0"})
    assert dbg.data("print", "n", "--format", "hex")["value"]["text"] == hex(10**5000)
    assert dbg.data("print", "empty")["value"]["text"] == "[set()]"


def test_a_page_of_an_object_with_elements_is_of_those_and_not_of_its_fields(dbg, write_program):
    at_last_line(
        dbg,
        write_program,
        "rows, groups = Rows(), Groups()",
        before=(
            "class Rows:\n"
            "    def __init__(self): self._hidden, self._data = 1, list(range(100, 120))\n"
            "    def __len__(self): return len(self._data)\n"
            "    def __getitem__(self, at): return self._data[at]\n"
            "class Groups(Rows):\n"
            "    def __getitem__(self, name): raise KeyError(name)\n"
            "    def __iter__(self): return iter([('a', 1), ('b', 2)])\n"
        ),
    )

    def page(expression, where):
        value = dbg.data("print", expression, "--range", where)["value"]
        return [(child["name"], child["text"]) for child in value["children"]]

    assert page("rows", "10:12") == [("10", "110"), ("11", "111")]
    assert page("groups", "1:2") == [("1", "('b', 2)")]
