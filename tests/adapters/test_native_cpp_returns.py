"""What a function of C++ returned, wherever the calling convention put it."""

from __future__ import annotations

import re

from harness.reports import frame_of

RETURNS = r"""
#include <any>
#include <array>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

struct Base { int a; };
struct Derived : Base { int b; };
struct Closed { int a, b; Closed(int x, int y) : a(x), b(y) {} ~Closed() {} };
struct Bits { unsigned a : 3; unsigned b : 5; int c; };
struct Floats { float x, y, z; };
struct Ints { int v[3]; };
struct Named { std::string title() const { return "4"; } };

std::variant<int, double> alternative() { return 1.5; }
std::any anything() { return 42; }
std::optional<int> maybe() { return 3; }
std::list<int> numbers() { return {1, 2, 3}; }
std::array<int, 3> three() { return {7, 8, 9}; }
std::pair<char, short> two() { return {'c', 9}; }
Derived derived() { Derived d; d.a = 1; d.b = 2; return d; }
Closed closed() { return Closed(3, 4); }
Bits bits() { Bits b; b.a = 5; b.b = 17; b.c = -1; return b; }
Floats floats() { return {1.5f, 2.5f, 3.5f}; }
Ints ints() { return {{4, 5, 6}}; }
__int128 wide() { return ((__int128)1 << 70) + 5; }
long double longer() { return 3.25L; }
int &global() { static int g = 11; return g; }

int main() {
    alternative(); anything(); maybe(); numbers(); three(); two(); derived(); closed(); bits();
    floats(); ints(); wide(); longer(); global();
    Named().title();
}
"""
#: the numbers in each value, in the order of the calls
NUMBERS = {
    "alternative": ["1.5"],
    "maybe": ["3"],
    "numbers": ["1", "2", "3"],
    "three": ["7", "8", "9"],
    "two": ["9"],
    "derived": ["1", "2"],
    "closed": ["3", "4"],
    "bits": ["5", "17", "-1"],
    "floats": ["1.5", "2.5", "3.5"],
    "ints": ["4", "5", "6"],
    "wide": ["1180591620717411303429"],
    "longer": ["3.25"],
    "global": ["11"],
    "Named::title": ["4"],
}
_NUMBER = re.compile(r"(?<![\w.<])-?\d+(?:\.\d+)?(?![\w.>:\]]|, \d+>)")


def test_a_returned_value_is_told_right_in_registers_and_in_memory(dbg, native):
    p = native(RETURNS, "-std=c++17")
    breaks = [word for name in NUMBERS for word in ("-b", name)]
    report = dbg.data("start", p.name, *breaks)
    found = {}
    while report["state"] == "stopped":
        name = frame_of(report)["function"].partition("(")[0].partition("[")[0]
        found[name] = _NUMBER.findall(
            dbg("finish").out.partition("returned ")[2].partition("\n")[0]
        )
        report = dbg.data("continue")

    expected = {name: numbers for name, numbers in NUMBERS.items() if name in found}
    assert {name: found[name][-len(expected[name]) :] for name in found} == expected
    assert len(found) == len(NUMBERS)
