"""Values under a real gdb: expanded, changed in place, paged."""

from __future__ import annotations

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.console.debuggers.gdb_mi import launch
from freezeframe.errors import DebuggerError
from freezeframe.model.values import ScopeKind

from .driving import Driver, build, on

SHAPES = r"""
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

struct Shape { virtual ~Shape() = default; int id = 1; };
struct Square : Shape { int width = 4; std::string name = "sq"; };
struct Bits { unsigned low : 3, high : 5; struct { int x, y; }; };
union Number { int whole; float real; };

int main() {
    std::vector<int> many;
    for (int i = 0; i < 500; i++) many.push_back(i * 2);
    Shape *seen = new Square;
    std::unique_ptr<Shape> owned = std::make_unique<Square>();
    std::array<int, 3> three{1, 2, 3};
    std::atomic<int> count{5};
    Bits bits{1, 2, {3, 4}};
    Number number{42};
    int table[2][2] = {{1, 2}, {3, 4}};
    char raw[64];
    for (int i = 0; i < 64; i++) raw[i] = static_cast<char>(i + 1);
    auto *broken = reinterpret_cast<std::vector<int> *>(raw);
    int *nothing = nullptr;
    many[0] = table[1][1];
    return broken == nullptr || nothing != nullptr;  // @here
}
"""


@pytest.fixture(scope="module")
def shapes(programs):
    return build(programs, "shapes.cpp", SHAPES, "-std=c++17")


async def _opened(d: Driver, ref: int) -> dict[str, str]:
    return {v.name: v.text for v in await d.backend.children(ref)}


@on_loop
async def test_an_object_is_shown_by_its_dynamic_type(shapes):
    async with Driver() as d:
        await d.start(shapes.launch(), shapes.at("here"))
        await d.stop()
        values = await d.values(ScopeKind.LOCALS)

        assert values["seen"].type == "Square *"
        assert await _opened(d, values["seen"].ref) == {"id": "1", "width": "4", "name": '"sq"'}
        [behind] = await d.backend.children(values["owned"].ref)
        assert await _opened(d, behind.ref) == {"id": "1", "width": "4", "name": '"sq"'}


@on_loop
async def test_anonymous_members_and_bit_fields_are_members(shapes):
    async with Driver() as d:
        await d.start(shapes.launch(), shapes.at("here"))
        await d.stop()
        values = await d.values(ScopeKind.LOCALS)

        assert await _opened(d, values["bits"].ref) == {"low": "1", "high": "2", "x": "3", "y": "4"}
        assert (await _opened(d, values["number"].ref))["whole"] == "42"
        assert await _opened(d, values["three"].ref) == {"[0]": "1", "[1]": "2", "[2]": "3"}
        assert values["count"].text == "5"
        frame = (await d.frames())[0].id
        assert (await d.backend.assign("bits.high", "7", frame)).text == "7"


@on_loop
async def test_a_long_container_is_paged(shapes):
    async with Driver() as d:
        await d.start(shapes.launch(), shapes.at("here"))
        await d.stop()
        many = await d.evaluate("many")

        assert many.count == 500
        first = await d.backend.children(many.ref, count=3)
        assert [(v.name, v.text) for v in first] == [("[0]", "4"), ("[1]", "2"), ("[2]", "4")]
        late = await d.backend.children(many.ref, start=450, count=2)
        assert [(v.name, v.text) for v in late] == [("[450]", "900"), ("[451]", "902")]


@on_loop
async def test_an_unreadable_value_says_so_and_affects_no_other(shapes):
    async with Driver() as d:
        await d.start(shapes.launch(), shapes.at("here"))
        await d.stop()
        values = await d.values(ScopeKind.LOCALS)

        assert "Cannot access memory" in values["broken"].text
        assert (values["nothing"].text, values["nothing"].ref) == ("0x0", 0)
        assert values["table"].opaque
        with pytest.raises(DebuggerError, match="no memory at 0x8"):
            await d.backend.read_memory("0x8", 4)


@on_loop
async def test_values_are_shown_in_hexadecimal_with_their_children(shapes):
    async with Driver() as d:
        await d.start(shapes.launch(), shapes.at("here"))
        await d.stop()
        frame = (await d.frames())[0].id

        whole, parts = await d.backend.evaluate_hex("255", frame)
        assert (whole.text, list(parts)) == ("0xff", [])
        _, parts = await d.backend.evaluate_hex("three", frame)
        assert parts
        _, parts = await d.backend.evaluate_hex("many", frame)
        assert [each.text for each in parts[:3]] == ["0x4", "0x2", "0x4"]
        assert await d.backend.evaluate_hex("no_such_name", frame) is None


@on_loop
async def test_a_gdb_without_python_shows_values_too(shapes, monkeypatch):
    monkeypatch.setattr(launch, "load_agents", lambda *more: ["-no-such-command"])
    async with Driver() as d:
        await d.start(shapes.launch(), shapes.at("here"))
        await d.stop()
        values = await d.values(ScopeKind.LOCALS)

        assert values["many"].text.startswith("{4, 2, 4")
        assert values["count"].text == "5"
        assert "id" in values["seen"].text
        assert (await _opened(d, values["bits"].ref))["high"] == "2"


NESTED = r"""
#include <cstdio>
#include <vector>
struct Sum {
    int sum, n;
    void put(int v) { sum += v; std::printf("%d\n", v); n++; }  // @put
};
static int twice(int v) {
    return v * 2;  // @twice
}
int main(int argc, char **) {
    std::puts("first");  // @first
    std::vector<int> late(3, argc);
    Sum total{argc, 0};
    int doubled =
        twice(argc);
    int one = argc, other = twice(one);
    for (int i = 0; i < 2; i++)  // @loop
        total.put(i * argc);
    return total.sum - 2 + late[0] - 1 + doubled - other;
}
"""


@on_loop
async def test_a_variable_that_is_not_initialised_yet_shows_no_value(tmp_path):
    source = build(tmp_path, "nested.cpp", NESTED)
    async with Driver() as driver:
        places = [source.at(name, id) for id, name in enumerate(("first", "twice", "loop"), 1)]
        await driver.start(source.launch(), *places)
        await driver.stop()
        first = await driver.locals()
        await driver.go()
        calling = await driver.locals((await driver.frames())[1].id)
        await driver.go()
        again = await driver.locals((await driver.frames())[1].id)
        await driver.go()
        second = await driver.locals()

    assert set(first.values()) == {"<not initialised yet>"}
    assert calling["doubled"] == "<not initialised yet>"
    assert (again["doubled"], again["one"]) == ("2", "1")
    assert second["late"] != "<not initialised yet>"
    assert second["i"] == "<not initialised yet>"


@on_loop
async def test_optimised_frames_say_so_and_a_synthetic_pointer_is_not_null(tmp_path):
    source = build(tmp_path, "nested.cpp", NESTED, "-O2")
    async with Driver() as driver:
        await driver.start(source.launch(), source.at("put"))
        await driver.stop()
        frames = await driver.frames()
        this = (await driver.values(ScopeKind.ARGUMENTS))["this"]

    assert [frame.optimized for frame in frames[:2]] == [True, True]
    assert this.text in ("<synthetic pointer>", "<optimized out>")


CONTAINERS = r"""
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>

struct Shape { virtual ~Shape() = default; };
struct Square : Shape { int width = 4; };

int main() {
    std::map<std::string, int> prices{{"apple", 3}, {"pear", 5}};
    std::unordered_map<int, std::string> names{{7, "seven"}};
    std::unique_ptr<Shape> owned = std::make_unique<Square>();
    std::string text(3000, 'q');
    const wchar_t *wide = L"wide";
    std::tuple<int, std::string> both{1, "two"};
    std::optional<std::tuple<int, std::string>> perhaps = both;
    std::optional<int> none;
    auto found = prices.find("pear"), end = prices.end();
    auto seven = names.begin();
    std::list<int> few{8, 9};
    auto eight = few.begin();
    std::map<std::string, long> stock{{"fig", 4}};
    long figs = stock.at("fig");
    return wide[0] + figs == 0;  // @here
}
"""


#: functions of the standard library that gdb cannot call
_INLINED = {
    "std::get<1>(both)": '"two"',
    "std::get<0>(perhaps.value())": "1",
    "none.has_value()": "false",
    "prices.size()": "2",
    'prices.at("apple")': "3",
    'stock.at("fig")': "4",  # compiled, but gdb cannot convert a literal to std::string
    "found->second": "5",
    "(*seven).second": '"seven"',
    "*eight": "8",
    "few.back()": "9",
    "text.length()": "3000",
    'found->first == "pear"': "true",
    'found->first != "pear"': "false",
}
_MISSING = {
    'prices["plum"]': "there is no entry",
    "none.value()": "nullopt",
    "*end": "at the end",
    "text.substr(1)": "would have to run",
}


@on_loop
async def test_map_entries_dynamic_types_and_lengths_are_shown(tmp_path):
    source = build(tmp_path, "containers.cpp", CONTAINERS, "-std=c++17")
    async with Driver() as driver:
        await driver.start(source.launch(), source.at("here"))
        await driver.stop()
        locals = await driver.locals()
        asked = ('prices["pear"]', "names[7]", "*owned")
        pear, seven, owned = [await driver.evaluate(each) for each in asked]
        [width] = await driver.backend.children(owned.ref)
        for expression, why in _MISSING.items():
            with pytest.raises(DebuggerError, match=why):
                await driver.evaluate(expression)
        shown = {each: (await driver.evaluate(each)).text for each in _INLINED}

    assert shown == _INLINED
    assert (pear.text, seven.text, owned.type) == ("5", '"seven"', "Square")
    assert (width.name, width.text) == ("width", "4")
    assert locals["text"].endswith('"... (length 3000)')
    assert locals["wide"].endswith('L"wide"')


@on_loop
async def test_missing_debug_information_is_reported_once(tmp_path):
    source = build(tmp_path, "split.c", "int main(void) { return 0; }\n", "-gsplit-dwarf")
    for part in tmp_path.glob("*.dwo"):
        part.unlink()
    async with Driver() as driver:
        await driver.start(source.launch(), on("main"))
        await driver.end()

    assert driver.printed("console").count("warning: Could not find DWO CU") == 1
