"""What C++ adds: exceptions by type, the standard library's containers, methods, overloads."""

from __future__ import annotations

import re

import pytest

from harness.reports import bare, frame_of, functions, own, place, printed, shown, texts, unreadable

THROWS = r"""
#include <cstdio>
#include <stdexcept>
#include <string>

struct Broken : std::runtime_error {
    int code;
    Broken(const std::string &what, int code) : std::runtime_error(what), code(code) {}
};

static int parse(const std::string &text) {
    if (text.empty()) {
        throw std::invalid_argument("empty text");  // @argument
    }
    if (text == "bad") {
        throw Broken("broken text", 7);  // @broken
    }
    return static_cast<int>(text.size());
}

static int read(const std::string &text) {
    try {
        return parse(text);  // @parse
    } catch (const std::exception &error) {
        std::printf("caught %s\n", error.what());  // @caught
        return -1;
    }
}

int main() {
    return read("four") + read("") + read("bad") == 2 ? 0 : 1;
}
"""

VALUES = r"""
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual int sides() const = 0;
};

struct Square : Shape {
    int width = 4;
    int sides() const override { return width; }
};

class Account {
  public:
    explicit Account(int balance) : balance_(balance) {}
    int deposit(int amount) {
        balance_ += amount;  // @method
        return balance_;
    }

  private:
    int balance_;
};

template <typename T> T larger(T left, T right) {
    return left > right ? left : right;  // @template
}

static int area(int side) { return side * side; }  // @area1
static double area(double radius) { return radius * 3; }  // @area2

int main() {
    std::vector<int> numbers{1, 2, 3};
    const std::vector<int> &alias = numbers;
    std::string text = "hello";
    std::map<std::string, int> ages{{"ann", 30}, {"bob", 41}};
    std::unordered_map<int, std::string> words{{1, "one"}};
    std::set<int> unique{5, 6};
    std::pair<int, std::string> pair{7, "seven"};
    std::optional<int> something = 8, nothing;
    auto owned = std::make_unique<Account>(9);
    auto shared = std::make_shared<std::string>("shared");
    std::unique_ptr<Shape> shape = std::make_unique<Square>();
    std::vector<std::string> empty;
    auto add = [&](int amount) {
        return owned->deposit(amount);  // @lambda
    };
    int sum = add(1);  // @here
    std::printf("%d %d %d %.0f %d\n", sum, larger(1, 2), area(2), area(1.0), shape->sides());
    numbers[1] = 5;
    return alias[1] - 5;  // @end
}
"""


# --- exceptions ---------------------------------------------------------------------------------


def test_a_throw_is_caught_by_its_type(dbg, native):
    p = native(THROWS)
    dbg.data("catch", "throw", "Broken")

    report = dbg.data("start", p.name)

    assert report["stop"]["reason"] == "exception"
    assert shown(report) == p.at("broken")
    exception = report["stop"]["exception"]
    assert exception["type"] == "Broken"
    assert "broken text" in exception["message"]
    assert dbg.data("continue")["exit"]["code"] == 0


def test_every_throw_is_caught_without_a_type(dbg, native):
    p = native(THROWS)
    dbg.data("catch", "throw")

    first = dbg.data("start", p.name)
    second = dbg.data("continue")

    assert (shown(first), shown(second)) == (p.at("argument"), p.at("broken"))
    assert first["stop"]["exception"]["type"].endswith("invalid_argument")
    assert dbg.data("continue")["exit"]["code"] == 0


def test_what_is_caught_is_told_where_it_is_caught(dbg, native):
    p = native(THROWS)
    dbg.data("catch", "catch")

    dbg.data("start", p.name)

    # Of its type the program itself has no debug information.
    told = dbg("context").out
    assert told.startswith("stopped: caught exception")
    assert "exception: std::invalid_argument: empty text" in told


def test_exceptions_that_are_handled_do_not_stop_by_themselves(dbg, native):
    p = native(THROWS)

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated"
    assert report["exit"]["code"] == 0
    assert printed(report, "stdout") == "caught empty text\ncaught broken text\n"


# --- values -------------------------------------------------------------------------------------


@pytest.fixture
def values(dbg, native):
    p = native(VALUES, "-std=c++17")
    dbg.data("start", p.name, "-b", p.at("here"))
    return p


READABLE = {
    "numbers": r"1, 2, 3",
    "alias": r"1, 2, 3",
    "text": r"\"?hello\"?",
    "ages": r"ann.*30.*bob.*41",
    "words": r"1.*one",
    "unique": r"5, 6",
    "pair": r"7.*seven",
    "something": r"\b8\b",
    "nothing": r"(?i)no|null|empty|{}",
    "owned": r"9",
    "shared": r"shared",
    "shape": r"4",
    "empty": r"\[\]|\{\}|empty|size=0|length 0",
}


def test_values_of_the_standard_library_are_readable_in_one_line(dbg, values):
    told = dbg("locals", "--budget", 4000).out

    assert unreadable(told, READABLE) == []
    assert "_M_" not in told, told


CROWDED = (
    "#include <bitset>\n#include <list>\n#include <memory>\n#include <optional>\n"
    "#include <string>\n#include <variant>\n#include <vector>\n"
    "struct Point { int x, y; };\n"
    "static int answer() {\n    return 41;  // @inside\n}\n"
    "int main() {\n"
    + "".join(f"    std::vector<std::vector<int>> v{n}{{{{1}}, {{2}}}};\n" for n in range(20))
    + "    auto shared = std::make_shared<Point>(Point{3, 4});\n"
    '    std::variant<int, std::string> either = "word";\n'
    "    std::vector<int> last{5, 6};\n"
    "    int &reference = last[1];\n"
    '    std::optional<std::string> maybe = "held", never;\n'
    '    std::string zero("a\\0b", 3);\n'
    "    std::pair<int, int> both{8, 9};\n"
    "    std::list<int> linked{4, 5};\n"
    '    std::bitset<8> bits("10110010");\n'
    "    int count = answer();\n"
    "    return reference + shared->x + count;\n}\n"
)


ALIASES = r"""
#include <cstring>
#include <new>

struct Empty {};
struct Base {
    int x = 2;
    virtual ~Base() = default;
};
struct Derived : virtual Base {
    int z = 4;
};

static int look(int &number, const Base &base, Base *pointer, int (&row)[3], Derived &unmade) {
    Empty empty;
    return number + base.x + pointer->x + row[0];  // @look
}

int main() {
    int number = 7, row[3] = {5, 6, 8};
    Derived made;
    alignas(Derived) unsigned char raw[sizeof(Derived)];
    std::memset(raw, 0x5a, sizeof raw);
    return look(number, made, &made, row, reinterpret_cast<Derived &>(raw)) == 0;
}
"""


def test_what_a_reference_or_a_pointer_leads_to_is_shown(dbg, native):
    p = native(ALIASES)
    dbg.data("start", p.name, "-b", p.at("look"))

    # One object that was never made takes nothing from the others.
    told = dbg("locals", "--budget", 6000).out

    assert {"number", "base", "pointer", "row", "unmade", "empty"} <= set(
        re.findall(r"^ +(\w+) = ", told, re.MULTILINE)
    )
    wanted = {"number": r"\b7$", "base": r"x=2", "pointer": r"Derived\(.*z=4", "row": r"5, 6, 8"}
    assert unreadable(told, wanted) == []
    assert re.search(r"empty = (\{\}|Empty)$", told, re.MULTILINE), told
    assert re.search(r"\b7$", dbg("print", "number").out.strip())


def test_a_frame_full_of_objects_shows_what_is_in_each(dbg, native):
    p = native(CROWDED, "-std=c++17")
    dbg.data("start", p.name, "-b", p.at("inside"))
    dbg.data("finish")

    told = dbg("locals", "--budget", 6000).out

    wanted = {"shared": r"3.*4", "either": r"word", "last": r"5, 6", "reference": r"\b6\b"}
    wanted |= {"maybe": "held", "never": "nullopt", "zero": r'"a\\000b"', "linked": "4, 5"}
    # What the call returned is not stored yet.
    wanted |= {"both": "8.*9", "count": "<not initialised yet>"}
    assert unreadable(told, wanted) == []
    bits = [dbg.data("print", f"bits[{at}]")["value"]["text"] for at in (0, 1, 7)]
    assert bits == ["false", "true", "true"]


BIG = r"""
#include <map>
#include <vector>

static void __attribute__((noinline)) soil() {
    volatile long words[512];
    for (int i = 0; i < 512; i++) words[i] = i * 0x100000000L;
}

static int __attribute__((noinline)) build(int first) {
    int count = first;  // @early
    std::vector<int> late;
    std::map<int, int> tree;
    late.push_back(count);
    tree[1] = late[0];
    return tree[1];
}

int main() {
    std::vector<int> many(20000, 7);
    many[15000] = 8;
    soil();
    return build(many[3]) == 7 ? 0 : 1;  // @late
}
"""


def test_a_container_that_is_big_or_not_there_yet_costs_no_more_than_what_is_shown(dbg, native):
    p = native(BIG)
    dbg.data("start", p.name, "-b", p.at("late"), "-b", p.at("early"))
    assert re.search(r"many = .*7, 7, 7.*19,9", dbg("locals").out)
    assert "[15000] = 8" in dbg("print", "many", "--range", "14999:15002").out
    # Its memory holds what another function left there: billions of elements.
    early = dbg("continue")
    assert re.search(r"count = ", early.out), early
    assert "note:" not in early.out, early
    asked = [m["arguments"] for m in dbg.sent_messages() if m["command"] == "variables"]
    assert all(each.get("count", 0) <= 1000 for each in asked)


def test_elements_are_reached_by_index_and_told_by_it(dbg, values):
    assert dbg.data("print", "numbers[1]")["value"]["text"] == "2"
    assert dbg.data("print", "pair.first")["value"]["text"] == "7"
    assert "* numbers[1] = 5 (was 2)" in dbg("until", values.at("end")).out


# --- functions ----------------------------------------------------------------------------------


def test_a_method_can_be_broken_at_and_sees_its_object(dbg, values):
    dbg.data("break", "Account::deposit")

    report = dbg.data("continue")

    assert place(report) == values.at("method")
    assert re.search(r"this = 0x\w+ Account\(balance_=9\)", dbg("context").out)
    assert bare(frame_of(report)["function"]) == "deposit"
    assert dbg.data("print", "balance_")["value"]["text"] == "9"
    assert dbg.data("print", "this->balance_ + amount")["value"]["text"] == "10"


def test_a_lambda_is_a_frame_of_the_user_s_own(dbg, values):
    dbg.data("break", values.at("lambda"))

    dbg.data("continue")

    [stack] = dbg.data("backtrace")["stacks"]
    assert [frame["line"] for frame in own(stack["frames"])] == [
        values.line("lambda"),
        values.line("here"),
    ]
    assert functions(stack)[-1] == "main"


def test_a_template_can_be_broken_at_by_its_name(dbg, values):
    dbg.data("break", "larger")

    report = dbg.data("continue")

    assert place(report) == values.at("template")
    assert texts(report)["right"] == "2"


def test_a_name_with_two_overloads_stops_at_both(dbg, values):
    dbg.data("break", "area")

    places = [place(dbg.data("continue")) for _ in range(2)]

    # The order in which a call's arguments are made is the compiler's own.
    assert sorted(places) == sorted([values.at("area1"), values.at("area2")])
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_step_goes_into_the_user_s_function_not_into_the_library(dbg, values):
    # make_unique and operator-> come before the user's own code.
    dbg.data("break", values.at("lambda"))
    dbg.data("continue")

    for _ in range(3):
        report = dbg.data("step")
        if bare(frame_of(report)["function"]) == "deposit":
            break

    assert place(report) == values.at("method")


LISTS = r"""
#include <cstdio>
#include <forward_list>
#include <list>

int main() {
    std::list<int> linked(300, 7);
    std::forward_list<int> forward(200, 8);
    std::printf("%zu\n", linked.size());  // @end
    return forward.empty();
}
"""


def test_lists_are_counted_to_their_end(dbg, native):
    p = native(LISTS)
    dbg.data("start", p.name, "-b", p.at("end"))

    last = dbg("print", "linked", "--range", "298:300").out
    behind = dbg("print", "forward", "--range", "198:200").out

    assert "[299] = 7" in last
    assert "[199] = 8" in behind
