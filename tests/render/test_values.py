"""Values, word for word."""

from __future__ import annotations

import pytest

from freezeframe.model.answers import Chunk, Evaluated, FrameAnswer, Output, Variables
from freezeframe.model.stops import Frame
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.render.text.one_value import assigned, changes

from .samples import TOTAL, local_scope, shown, source, text


def printed(value: Value, **facts: object) -> str:
    return shown(Evaluated("x", value, **facts))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["None", "[]", "''", "{}", "0", "nil", "<unset>"])
def test_a_value_is_shown_as_the_debugger_gave_it(text):
    assert printed(Value("x", text)) == f"x = {text}\n"


def test_the_right_side_is_never_empty():
    assert printed(Value("x", "", "Foo")) == "x = <Foo, no text>\n"


def test_a_statement_has_no_value():
    assert shown(Evaluated("import os", Value("", ""))) == "done: it has no value\n"


def test_a_value_that_cannot_be_shown_says_why():
    assert printed(Value("x", "RuntimeError: no", failed=True)) == (
        "x = <cannot be shown: RuntimeError: no>\n"
    )


def test_a_type_is_shown_when_asked_for():
    assert printed(Value("x", "[]", "list"), show_type=True) == "x: list = []\n"


def test_an_assignment_shows_what_was_there():
    assert printed(Value("x", "5", changed=True, was="3")) == "x = 5 (was 3)\n"


def test_what_an_evaluation_printed_is_shown_with_it():
    answer = Evaluated("f()", Value("f()", "5"), output=Output((Chunk("stdout", "hi\n"),)))

    assert shown(answer) == "f() = 5\noutput:\n| hi\n"


def test_a_value_stays_on_its_line_and_moves_no_cursor():
    assert printed(Value("x", "'a\nb\x1b[2J\tc\u202e'")) == "x = 'a\\nb\\x1b[2J\\tc\\u202e'\n"


def test_a_huge_string_is_elided_in_the_middle_with_its_size():
    line = shown(Evaluated("s", Value("s", "'" + "a" * 50_000_000 + "z'")), budget_tokens=60)

    assert line.startswith("s = 'aaaa")
    assert line.endswith("aaaz'\n")
    assert "…+49,999,8" in line


def test_a_huge_dict_names_the_command_that_pages_it():
    items = ", ".join(f"{i}: {i}" for i in range(10_000))
    answer = Evaluated("self.d['k']", Value("", f"{{{items}}}", has_children=True, count=10_000))

    *_, last = shown(answer, budget_tokens=100).splitlines()
    assert last == """… 10,000 items (dbg print 'self.d['"'"'k'"'"']' --range 0:100)"""


def test_a_range_says_what_it_is_a_part_of():
    children = tuple(Value(str(i), str(i * i)) for i in (100, 101, 102))
    answer = Evaluated(
        "xs", Value("xs", "[…]", "list", children=children, count=10_000), range=(100, 103)
    )

    assert shown(answer) == text("""
        xs [100:103] of 10,000
          100 = 10000
          101 = 10201
          102 = 10404
    """)


@pytest.mark.parametrize(("depth", "deepest"), [(1, 2), (2, 4), (3, 6), (None, 6)])
def test_as_many_levels_are_shown_as_were_asked_for(depth, deepest):
    value = Value("d", "1")
    for name in ("c", "b", "a"):
        value = Value(name, "…", "T", has_children=True, children=(value,))

    *_, last = printed(value, depth=depth).splitlines()
    assert len(last) - len(last.lstrip()) == deepest


def test_a_range_that_does_not_fit_goes_on_where_it_ended():
    children = tuple(Value(str(i), "'some text'") for i in range(100, 200))
    answer = Evaluated("xs", Value("xs", "[…]", children=children, count=10_000), range=(100, 200))

    *lines, last = shown(answer, budget_tokens=60).splitlines()
    following = 100 + len(lines) - 1
    assert last == f"  … {200 - following} more (dbg print xs --range {following}:200)"


def test_a_range_beyond_the_end_has_nothing():
    answer = Evaluated("xs", Value("xs", "", count=1), range=(5, 9))

    assert shown(answer) == "xs [5:9] of 1: nothing there\n"


def test_a_range_of_text_is_that_part_of_it():
    answer = Evaluated("s", Value("s", "'world'"), range=(5, 10))

    assert shown(answer) == "s[5:10] = 'world'\n"


def test_a_value_of_another_frame_says_of_which():
    answer = Evaluated("n", Value("n", "3"), frame=Frame(2, "main", "/p/app.py", 30))

    assert shown(answer) == "n = 3\nin frame 2: app.py:30 in main\n"


def test_an_object_that_was_none_before_says_so():
    now = Value("a", "<A at 1>", "A", (Value("id", "1"),), opaque=True, changed=True, was="None")
    moved = Value("a", "<A at 1>", "A", opaque=True, changed=True, was="<A at 2>")

    assert printed(now) == "x = A(id=1) (was None)\n"
    assert printed(moved) == "x = <A at 1> (changed)\n"


def test_an_opaque_object_is_shown_by_its_fields():
    fields = (Value("id", "1"), Value("owner", "'Bo'"))
    account = Value(
        "acct", "<app.Account object at 0x7f>", "app.Account", children=fields, opaque=True
    )

    assert shown(Evaluated("acct", account)) == "acct = Account(id=1, owner='Bo')\n"


def test_fields_that_were_not_fetched_are_counted():
    account = Value("a", "<app.Account at 1>", children=(Value("id", "1"),), opaque=True, count=4)

    assert shown(Variables(TOTAL, (local_scope(account),))) == "  a = Account(id=1, …+3)\n"


def test_an_opaque_object_without_fields_keeps_its_text():
    assert printed(Value("x", "<object object at 0x7f>", opaque=True)) == (
        "x = <object object at 0x7f>\n"
    )


def test_depth_shows_children_below_their_parents():
    items = Value("items", "[1, 2]", children=(Value("0", "1"), Value("1", "2")))
    cart = Value("cart", "<Cart>", "Cart", children=(items, Value("n", "2")), opaque=True)

    assert shown(Evaluated("cart", cart)) == text("""
        cart = Cart(items=[1, 2], n=2)
          items = [1, 2]
            0 = 1
            1 = 2
          n = 2
    """)


def test_locals_are_listed_in_order_with_changes_marked_in_place():
    part = Value("qty", "2", changed=True, was="1", expression="cart.qty")
    answer = Variables(
        TOTAL,
        (
            local_scope(
                Value("n", "3"),
                Value("s", "1", changed=True, was="0"),
                Value("cart", "<Cart>", "Cart", children=(part,), opaque=True),
                more=37,
            ),
        ),
    )

    assert shown(answer) == text("""
          n = 3
        * s = 1 (was 0)
        * cart = Cart(qty=2)
          * cart.qty = 2 (was 1)
        … 37 more locals (dbg locals --range 3:40)
    """)


def test_scopes_are_titled_when_there_are_several_or_the_frame_is_not_the_innermost():
    answer = Variables(
        Frame(2, "main", "/p/app.py", 30),
        (
            Scope("Arguments", ScopeKind.ARGUMENTS, (Value("n", "3"),)),
            Scope("Locals", ScopeKind.LOCALS, (Value("x", "None"),)),
            Scope("Closure of makeApp", ScopeKind.LOCALS, (Value("y", "1"),)),
        ),
    )

    assert shown(answer) == text("""
        app.py:30 in main:
        arguments:
          n = 3
        locals:
          x = None
        closure of makeApp:
          y = 1
    """)


@pytest.mark.parametrize(
    ("kind", "words"),
    [(ScopeKind.ARGUMENTS, "no arguments in total\n"), (ScopeKind.LOCALS, "no locals in total\n")],
)
def test_an_empty_scope_is_reported(kind, words):
    assert shown(Variables(TOTAL, (Scope("x", kind),))) == words


def test_a_page_of_globals_goes_on_where_it_ended():
    values = tuple(Value(f"g{i}", "1") for i in range(100))
    answer = Variables(TOTAL, (Scope("Globals", ScopeKind.GLOBALS, values, start=200),))

    *lines, last = shown(answer, budget_tokens=60).splitlines()
    count = len(lines)
    assert last == f"… {100 - count} more globals (dbg globals --range {200 + count}:300)"


def test_arguments_that_do_not_fit_name_a_budget_for_they_have_no_pages():
    values = tuple(Value(f"a{i}", "1") for i in range(100))
    answer = Variables(TOTAL, (Scope("Arguments", ScopeKind.ARGUMENTS, values),))

    *lines, last = shown(answer, budget_tokens=60).splitlines()
    assert last == f"… {100 - len(lines)} more arguments (dbg args --budget 120)"


def test_a_frame_is_shown_with_its_source_and_values():
    answer = FrameAnswer(
        Frame(1, "total", "/p/app.py", 23),
        5,
        source(23),
        (local_scope(Value("a", "1")),),
        note="the frame below is a library's",
    )

    assert shown(answer) == text("""
        frame 1 of 5: app.py:23 in total
        note: the frame below is a library's
           19  def total(n):
           20      s = 0
           21      for i in range(n):
           22          s += i
        -> 23      return s
           24
           25  print(total(3))
          a = 1
    """)


def test_a_long_container_shows_its_first_elements_and_their_number():
    items = ", ".join(map(str, range(1000)))
    value = Value("xs", f"deque([{items}])", has_children=True, count=1000)

    line = shown(Evaluated("xs", value), budget_tokens=60).splitlines()[0]

    assert line.startswith("xs = deque([0, 1, 2, ")
    assert line.endswith(", … 1000 items])")


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        *(("[", "]"), ("Map(1000) {", "}"), ("Box {", "}"), ("(", ")"), ("Counter({", "})")),
        ("[Object: null prototype] {", "}"),
    ],
)
def test_a_container_of_containers_is_closed_as_it_was_opened(opening, closing):
    items = ", ".join(["{'a': 1}"] * 1000)
    value = Value("xs", f"{opening}{items}{closing}", has_children=True, count=1000)

    line = shown(Evaluated("xs", value), budget_tokens=60).splitlines()[0]

    assert line.startswith(f"xs = {opening}{{'a': 1}}, ")
    assert line.endswith(f", … 1000 items{closing}")


def test_a_container_is_not_cut_within_an_element():
    field = ", ".join(f"b{i}: {i}" for i in range(40))
    value = Value("cs", f"go-x.List [*{{a: 1, {field}}}, nil]", has_children=True, count=2)

    line = shown(Evaluated("cs", value), budget_tokens=60).splitlines()[0]

    assert "items" not in line, "the second element does not follow where the first was cut"
    assert line.startswith("cs = go-x.List [*{a: 1, b0: 0, ")
    assert line.endswith("}, nil]")


def test_a_gap_that_would_save_nothing_is_not_made():
    nearly, long = "x" * 110, "y" * 140
    answer = FrameAnswer(
        Frame(1, "total", "/p/app.py", 23),
        5,
        source(23),
        (local_scope(Value("a", nearly), Value("b", long)),),
    )

    lines = shown(answer).splitlines()

    assert f"  a = {nearly}" in lines
    assert any(line.startswith("  b = yyy") and "chars…" in line for line in lines)


def test_a_few_changed_parts_are_listed_by_path():
    parts = tuple(Value(f"xs[{i}]", "1", changed=True, was="0") for i in range(6))
    value = Value("xs", "[…]" * 40, changed=True, was="[.]" * 40, parts=parts, more_parts=3)

    listed = [f"{path} {part.text}" for path, part in changes(value)]

    assert listed == ["xs[0] 1", "xs[1] 1", "xs[2] 1", "xs[3] 1", "xs "]
    assert assigned(changes(value)[-1][1], 80) == "xs: 5 more changes"
    hidden = Value("xs", "X(…)" * 40, changed=True, was="X(.)" * 40, more_parts=3)
    assert [assigned(part, 80) for _, part in changes(hidden)] == ["xs: 3 changes inside"]


def test_a_value_that_is_gone_is_shown_with_its_old_text():
    assert assigned(Value("x", "", changed=True, was="3", gone=True), 80) == "x is gone (was 3)"


def test_the_text_of_an_object_does_not_hide_what_changed_in_it():
    part = Value("o.n", "2", changed=True, was="1")
    value = Value("o", "<thing 2>", changed=True, was="<thing 1>", parts=(part,))

    assert [path for path, _ in changes(value)] == ["o", "o.n"]


def test_what_is_cut_is_named_by_the_expression_that_shows_it():
    fields = tuple(Value(f"f{i}", "7" * 20, expression=f"order.who.f{i}") for i in range(9))
    who = Value("who", "", "Who", fields, True, 9, expression="order.who", opaque=True)
    id = Value("id", "7", expression="order.id")
    order = Value("order", "", "Order", (id, who), True, 2, expression="order", opaque=True)
    listed = f"[{', '.join(['1'] * 90)}]"
    rows = Value("rows", listed, has_children=True, count=90, expression="rows")
    answer = Variables(Frame(0, "total"), (local_scope(rows, order),))

    assert shown(answer).splitlines()[-1] == "cut: dbg print order.who"
    rows_alone = Variables(Frame(0, "total"), (local_scope(rows),))
    assert shown(rows_alone).splitlines()[-1] == "cut: dbg print rows"
    assert "cut" not in shown(Variables(Frame(0, "total"), (local_scope(id),)))
