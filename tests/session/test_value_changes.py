from dataclasses import replace

from freezeframe.model.values import UNSET, Value
from freezeframe.session import value_changes


def value(name, text, *children, opaque=False, type="int"):
    return Value(name, text, type=type, children=tuple(children), opaque=opaque)


def compare(before, now):
    return {v.name: v for v in value_changes.mark(now, value_changes.by_name(before))}


def test_nothing_is_marked_at_the_first_look():
    assert not any(v.changed for v in value_changes.mark([value("a", "1")], None))


def test_a_changed_value_is_marked_with_what_it_was():
    marked = compare([value("a", "1"), value("b", "2")], [value("a", "3"), value("b", "2")])
    assert (marked["a"].changed, marked["a"].was) == (True, "1")
    assert not marked["b"].changed


def test_a_new_name_is_marked_without_a_before():
    assert compare([], [value("a", "1")])["a"] == Value("a", "1", type="int", changed=True)


def test_what_was_not_initialised_is_new_once_it_is_and_no_change_before():
    unset = value("a", UNSET)
    assert compare([unset], [value("a", "1")])["a"] == Value("a", "1", type="int", changed=True)
    assert not compare([], [unset])["a"].changed
    assert not compare([value("a", "1")], [unset])["a"].changed
    assert not value_changes.gone([], value_changes.by_name([unset]))


def test_an_object_is_judged_by_its_fields_not_its_address():
    before = value("o", "<O at 0x1>", value("x", "1"), opaque=True, type="O")
    same = value("o", "<O at 0x2>", value("x", "1"), opaque=True, type="O")
    other = value("o", "<O at 0x1>", value("x", "2"), opaque=True, type="O")
    assert not compare([before], [same])["o"].changed
    marked = compare([before], [other])["o"]
    assert marked.changed
    assert marked.children[0].was == "1"


def test_entries_are_compared_by_their_keys_and_sets_by_what_is_in_them():
    def table(*entries, count=None):
        pairs = [
            value(f"[{i}]", "", value("first", key), value("second", mapped), opaque=True)
            for i, (key, mapped) in enumerate(entries)
        ]
        shown = value("m", "", *pairs, opaque=True, type="std::map<int, int>")
        return replace(shown, count=len(pairs) if count is None else count)

    marked = compare([table(("b", "1"), ("c", "5"))], [table(("a", "2"), ("b", "3"))])["m"]
    parts = {part.name: (part.text, part.was, part.gone) for part in marked.parts}
    assert parts == {
        "m[a]": ("2", None, False),
        "m[b]": ("3", "1", False),
        "m[c]": ("", "5", True),
    }
    # Of those that are not all in sight none is known to be new.
    marked = compare([table(("b", "1"), count=90)], [table(("a", "1"), count=91)])["m"]
    assert (marked.changed, marked.parts) == (True, ())

    def numbers(texts):
        elements = [value(f"[{i}]", text) for i, text in enumerate(texts)]
        return value("s", "", *elements, opaque=True, type="HashSet<u8>")

    assert compare([numbers("57")], [numbers("751")])["s"].was == "{5, 7}"
    assert not compare([numbers("571")], [numbers("751")])["s"].changed


def test_a_union_changes_as_a_whole():
    def number(whole, real, type="union number"):
        return value("n", "", value("whole", whole), value("real", real), opaque=True, type=type)

    marked = compare([number("1", "0.5")], [number("2", "1.5")])["n"]
    assert (marked.changed, marked.was) == (True, "whole=1, real=0.5")
    assert not any(child.changed for child in marked.children)
    members = [Value("a", "1", address="0x10"), Value("b", "2", address="0x10")]
    before = Value("u", "", type="U", children=tuple(members), opaque=True)
    members[0] = Value("a", "3", address="0x10")
    now = Value("u", "", type="U", children=tuple(members), opaque=True)
    assert not any(child.changed for child in compare([before], [now])["u"].children)


def test_another_type_is_a_change_even_when_the_text_is_the_same():
    assert compare([value("a", "1")], [value("a", "1", type="float")])["a"].changed
