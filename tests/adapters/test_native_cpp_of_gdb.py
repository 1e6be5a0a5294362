"""Variables and lines that a program has not reached, as gdb alone reports them."""

from __future__ import annotations

import re

from harness.reports import place, printed, texts, values

UNSET = "<not initialised yet>"

# g++ gives what it makes of a list of texts the number of the function's last line.
LISTS = r"""
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

struct Account { int id; std::string owner; };

static int entries() {
    std::map<std::string, int> counts{{"b", 1}};
    std::map<int, std::map<int, Account>> deep{{1, {{2, {3, "ann"}}}}};
    std::set<int> seen{5};
    std::unique_ptr<Account> owned(new Account{7, "eve"});
    std::tuple<int, std::string> both{1, "two"};
    wchar_t wide[] = L"wide";
    std::puts("entries");  // @before
    counts["a"] = 2;
    deep[1][2].owner = "bob";
    seen.insert(1);
    std::puts("changed");  // @changed
    counts.erase("b");
    std::puts("erased");  // @erased
    return counts["a"];
}

static int twice(int n) { int all = n * 2; return all; }

static void soil() {
    volatile long words[256];
    for (int i = 0; i < 256; i++) words[i] = 77777777777L * i;
}

static int lengths(int n) {
    double mean; int i, top;
    char *end;
    std::vector<std::string> all{"one", "three"};
    int sum = n;
    for (i = 0; i < 2; i++) {
        sum += static_cast<int>(all[i].size());  // @loop
        top = sum;
    }
    mean = sum / 2.0;  // @after
    end = all[0].data();
    std::printf("%g %d %s\n", mean, top, end); return sum; }  // @last

// The code of the brace begins with what unwinds an exception.
static Account open(int n) {
    Account made;
    made.owner = "ann";
    made.id = n;
    return made;
}  // @opened

int main() {
    soil();
    int n = twice(1);
    return lengths(entries()) + n - 2 + open(0).id;
}
"""


def test_the_last_line_of_a_function_is_reached_last_and_nothing_is_shown_before(dbg, native):
    p = native(LISTS)
    assert texts(dbg.data("start", p.name, "-b", "twice", "-b", "lengths"))["all"] == UNSET
    first = texts(dbg.data("continue"))
    for marker in ("loop", "after", "last"):
        dbg.data("break", p.at(marker))
    looping = dbg.data("continue")
    again = dbg.data("continue")
    after = texts(dbg.data("continue"))
    last = values(dbg.data("continue"))

    assert {name for name, text in first.items() if text == UNSET} == {
        "mean",
        "i",
        "top",
        "end",
        "all",
        "sum",
    }
    assert (texts(looping)["i"], texts(looping)["mean"]) == ("0", UNSET)
    assert values(looping)["sum"]["changed"]
    assert values(looping)["sum"].get("was") is None
    # What the loop assigned in its first pass may have been: it is shown as it is.
    assert (texts(again)["top"], texts(again)["end"]) == ("5", UNSET)
    assert (after["mean"], after["end"], after["sum"]) == (UNSET, UNSET, "10")
    assert (last["mean"]["text"], last["sum"]["text"]) == ("5", "10")
    assert last["all"]["count"] == 2
    dbg.data("break", p.at("opened"), "--log", "opened {n}")
    end = dbg.data("continue")
    assert (printed(end, "log"), end["exit"]["code"]) == ("opened 0\n", 10)


def test_entries_of_maps_are_told_by_their_keys_wherever_they_lie(dbg, native):
    p = native(LISTS)
    first = dbg("start", p.name, "-b", p.at("before")).out
    for marker in ("changed", "erased"):
        dbg.data("break", p.at(marker))
    changed, erased = dbg("continue").out, dbg("continue").out

    assert '  counts = map("b": 1)\n' in first
    assert "  deep = map(1: map(2: Account(id=3, …+1)))\n" in first
    assert re.search(r"  owned = .*Account\(id=7, ", first)
    assert re.search(r'  both = .*1, "two"', first)
    assert '  wide = L"wide"\n' in first
    assert '* counts["a"] = 2 (new)\n' in changed
    assert '* deep[1][2].owner = "bob" (was "ann")\n' in changed
    assert re.search(r"\* seen = .*1, 5[)}] \(was \{5\}\)\n", changed)
    assert changed.count("\n* ") == 3
    assert '* counts["b"] is gone (was 1)\n' in erased
    assert erased.count("\n* ") == 1


CONDITIONS = r"""
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

struct User { std::string name; int age; std::vector<int> tags; };

static void visit(const User& u, std::optional<int> o, const std::map<std::string, int>& m) {
    std::printf("%s %zu %zu\n", u.name.c_str(), m.size(), o ? u.tags.size() : 0);  // @visit
}

// g++ gives the jump at the end of the branch the line of the return, and an address below it.
static User copy(const User& u) {
    User o;
    o.name = u.name;
    if (u.age > 35) o.name += std::string("!");
    return o;  // @return
}

int main() {
    std::vector<User> users{{"ann", 30, {}}, {"bob", 40, {1, 2}}};
    for (const User& u : users) std::printf("%s\n", copy(u).name.c_str());
    std::map<std::string, int> m{{"x", 1}};
    for (int i = 0; i < 20; i++) {
        const User& u = users[i % 2];
        visit(u, u.age > 35 ? std::optional<int>(u.age) : std::nullopt, m);
    }
}
"""
#: conditions that hold for the second of two users
HOLDING = (
    'u.name == "bob"',
    "u.tags.size() > 1 && u.age == 40",
    "o.has_value()",
    'm.count("x") == 1 && !u.tags.empty()',
    "u.name.size() + u.tags.size() == 5",
)


def test_each_pass_stops_and_conditions_take_the_functions_of_the_standard_library(dbg, native):
    p = native(CONDITIONS)
    dbg.data("start", p.name, "-b", p.at("visit"), "-b", p.at("return"))
    for name in ('"ann"', '"bob!"'):
        assert dbg.data("print", "o.name")["value"]["text"] == name
        dbg.data("continue")
    assert dbg.data("print", 'u.name == "ann" && m["x"] + 1 == 2')["value"]["text"] == "true"
    for each in HOLDING:
        dbg.data("break", p.at("visit"), "-c", each)
        dbg.data("continue")
        assert dbg.data("print", "u.name")["value"]["text"] == '"bob"', each
    dbg.data("break", p.at("visit"), "-c", "*o == 41")
    assert "fails: it is empty (nullopt)" in dbg("continue").out


def test_a_part_of_a_container_is_that_part_and_one_not_made_yet_loses_no_session(dbg, sample):
    p = sample("pages")
    dbg.data("start", p.name, "-b", p.at("late"), "-b", p.at("early"), "-b", p.at("built"))
    assert "[250] = 250" in dbg("print", "numbers", "--range", "250:252").out
    told = dbg("print", "squares", "--range", "250:252").out
    assert re.search(r"\[250\] = \D*250\D+62500\b.*\n +\[251\] = \D*251\D+63001\b", told), told
    # Its memory holds what another function left there: billions of elements.
    dbg("continue")
    assert "debugger-timeout" not in dbg("print", "late").err
    assert place(dbg.data("continue")) == p.at("built")
