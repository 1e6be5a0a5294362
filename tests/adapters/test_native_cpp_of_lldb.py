"""Last lines of functions, and expressions of C++, as LLDB shows them."""

from __future__ import annotations

import re

from harness.reports import place, printed, shown, texts

UNSET = "<not initialised yet>"

# g++ gives the temporaries of an initializer list the function's last line.
LISTS = r"""
#include <map>
#include <string>
#include <vector>

struct Item { std::string name; int n; };

static std::vector<Item> make() {
    std::vector<Item> items = {{"a", 1}, {"b", 2}};
    items.push_back({"c", 3});
    return items;
}  // @made

static int total(const std::vector<Item> &items) {
    std::map<std::string, int> extra = {{"x", 1}, {"y", 2}};
    int sum = 0;
    for (const Item &item : items) {
        sum += item.n;
    }
    return sum + static_cast<int>(extra.size());
}  // @totalled

static int shared() {
    std::vector<std::string> words = {"one", "two"};
    int sum = 1;
    sum += static_cast<int>(words.size()); return sum; }  // @brace

int main() {
    int all = total(make());
    all += shared();
    return all;
}  // @last
"""


def test_the_last_line_of_a_function_is_reached_when_its_variables_are_set(dbg, native):
    p = native(LISTS)
    first = dbg.data("start", p.name, "-b", "make", "-b", p.at("made"))
    size = dbg.data("print", "sizeof(items)")["value"]["text"]
    calling = dbg.data("up")
    given = dbg.data("set", "all", "5")["value"]
    made = dbg.data("continue")
    totalled = p.at("totalled")
    log = dbg.data("break", totalled, "--log", "sum is {sum}")["breakpoint"]
    condition = dbg.data("break", totalled, "-c", "sum == 6")["breakpoint"]
    dbg.data("break", p.at("brace"))
    summed = dbg.data("continue")
    shared = dbg.data("continue")
    hits = {each["id"]: each.get("hits") for each in dbg.data("breakpoint", "list")["breakpoints"]}
    dbg.data("breakpoint", "remove", "--all")

    assert (texts(first)["items"], texts(calling)["all"]) == (UNSET, UNSET)
    assert given["text"] == "5"
    assert size == "24"
    assert shown(made) == p.at("made")
    assert UNSET not in texts(made)["items"]
    assert shown(summed) == totalled
    assert texts(summed)["sum"] == "6"
    assert "sum is 6" in printed(summed, "log")
    assert (shown(shared), texts(shared)["sum"]) == (p.at("brace"), "1")
    assert condition["state"] == "bound"
    # No debugger counts what a logpoint wrote.
    assert (hits[condition["id"]], hits[log["id"]]) == (1, None)
    assert dbg.data("continue")["exit"]["code"] == 11


EXPRESSIONS = r"""
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

struct Node { int id; std::string name; std::unique_ptr<Node> next; };
struct Shelf {
    std::vector<int> items{4, 5};
    int first() const {
        return items.front();  // @method
    }
};

int main() {
    std::map<std::string, std::vector<int>> table{{"a", {1, 2}}};
    std::vector<int> big(20000, 7);
    std::set<int> seen{3, 1};
    std::optional<int> some = 5, none;
    auto head = std::make_unique<Node>();
    head->name = "first";
    head->next = std::make_unique<Node>();
    head->next->name = "second";
    for (const Node *node = head.get(); node != nullptr; node = node->next.get()) {
        seen.insert(node->id);  // @loop
    }
    big.push_back(8);
    return seen.size() + big.size() > 4 ? Shelf().first() : 1;  // @end
}
"""

VALUES = {
    'table["a"][1]': "2",
    'table.count("zz")': "0",
    "seen.count(3)": "1",
    "some.value() + 1": "6",
    "none.has_value()": "false",
    'head->name == "first"': "true",
    'head->next->name == "second"': "true",
}


def test_functions_of_the_library_that_are_not_compiled_in_are_evaluated(dbg, native):
    p = native(EXPRESSIONS, "-std=c++17")
    looping = dbg.data("start", p.name, "-b", f'{p.at("loop")} if node->name == "second"')
    for expression, text in VALUES.items():
        assert dbg.data("print", expression)["value"]["text"] == text, expression
    for expression in ("head->nosuch->name", 'table["zz"]', "none.value()"):
        assert dbg.error("print", expression)["code"] == "evaluation", expression
    dbg.data("break", p.at("end"))
    ended = dbg("continue").out

    assert shown(looping) == p.at("loop")
    # An element beyond those that are shown is a change too.
    assert "* big = " in ended
    dbg.data("break", p.at("method"))
    dbg.data("continue")
    assert dbg.data("print", "items.size()")["value"]["text"] == "2"


def test_a_part_of_a_container_is_that_part_and_one_not_made_yet_loses_no_session(dbg, sample):
    p = sample("pages")
    dbg.data("start", p.name, "-b", p.at("late"), "-b", p.at("early"), "-b", p.at("built"))
    assert "[250] = 250" in dbg("print", "numbers", "--range", "250:252").out
    told = dbg("print", "squares", "--range", "250:252")
    pairs = re.search(r"\[250\] = \D*250\D+62500\b.*\n +\[251\] = \D*251\D+63001\b", told.out)
    # CodeLLDB lists what it can read in 5 s.
    assert pairs or "lists fewer than 251 of the 300 items" in told.err, told
    # Its memory holds what another function left there: billions of elements.
    dbg("continue")
    assert "debugger-timeout" not in dbg("print", "late").err
    assert place(dbg.data("continue")) == p.at("built")


MEMBER_POINTERS = r"""
struct Base { int first = 1, second = 2; virtual ~Base() = default; };
struct Derived : Base { int third = 3; };

int main() {
    int Derived::*third = &Derived::third;
    int Base::*second = &Base::second;
    int Base::*none = nullptr;
    Derived it;
    return it.*third + it.*second - 5 + (none != nullptr);  // @stop
}
"""


def test_a_pointer_to_a_member_names_it(dbg, native):
    p = native(MEMBER_POINTERS)

    shown = texts(dbg.data("start", p.name, "-b", p.at("stop")))

    assert shown["third"].endswith("&Derived::third")
    assert shown["second"].endswith("&Base::second")
    assert shown["none"].endswith("nullptr")
