"""What is read from delve without delve: its names, its values, its last words."""

from __future__ import annotations

from pathlib import Path

import pytest

from freezeframe.backends.backend import BoundBreakpoint, Launch, RawFrame, RawValue
from freezeframe.backends.backend import BreakpointRequest as Wanted
from freezeframe.backends.dap.adapters import known
from freezeframe.backends.dap.adapters.delve import frames, unset, values
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.model.locations import Location
from freezeframe.model.stops import Exit, StopReason

DELVE = known()["delve"]
TARGET = Launch("/p/app")


def test_a_function_of_the_program_s_own_package_is_meant_first(tmp_path):
    (tmp_path / "a.go").write_text("package main\n\nfunc check() {}\n")
    alias, target = DELVE.breakpoints.function_alias, Launch("app", cwd=str(tmp_path))

    named = [alias(target, name) for name in ("main", "check", "Print", "fmt.Print")]

    assert named == ["main.main", "main.check", "Print", "fmt.Print"]
    # Delve takes `cart.Get` for the method `cart.Item.Get` too, but not with the whole path.
    (tmp_path / "go.mod").write_text("module example.com/shop/v2\n\ngo 1.20\n")
    (tmp_path / "cart").mkdir()
    (tmp_path / "cart" / "cart.go").write_text("package cart\n\nfunc Get() {}\n")
    (tmp_path / "cart" / "cart_test.go").write_text("package cart_test\n\nfunc TestGet() {}\n")
    target = Launch("app", cwd=str(tmp_path / "cart"))
    assert alias(target, "Get") == "example.com/shop/v2/cart.Get"
    assert alias(target, "TestGet") == "example.com/shop/v2/cart_test.TestGet"


def test_a_name_of_several_functions_is_rejected_with_their_names():
    told = 'Location "Get" ambiguous: x.com/a/v2.(*Cache).Get, x.com/a/v2/lru.(*LRU).Get…'
    wanted = Wanted(1, Location(function="Get"))

    bound = DELVE.breakpoints.check_bound(wanted, BoundBreakpoint(1, False, message=told))

    assert bound.rejected
    assert bound.message == "name one of the functions v2.(*Cache).Get or lru.(*LRU).Get and others"


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("34 = 0x22", "34"),
        ("ByteConst (255) = 0xff", "ByteConst (255)"),
        ("[3]int [1,2,3]", "[3]int [1, 2, 3]"),
        ('[]string len: 1, cap: 1, ["a,b = 0x1"]', '[]string ["a,b = 0x1"]'),
        ('map[string]int ["a": 1, "b": 2, ]', 'map[string]int ["a": 1, "b": 2]'),
        ("[]uint8 len: 2, cap: 8, [104,105]", '[]uint8(cap 8) "hi"'),
        (
            "[]interface {} len: 2, cap: 2, [*(*interface {})(0xc000),nil]",
            "[]interface {} […, nil]",
        ),
        (
            'struct { shop.name string; shop.want struct { shop.n int } } {name: "a {", want: 1}',
            'struct {name: "a {", want: 1}',
        ),
        ("[]struct { a.n int } len: 1, cap: 1, [{n: 1}]", "[]struct { a.n int } [{n: 1}]"),
        ("[]uint8 len: 2, cap: 8, [0,255]", "[]uint8(cap 8) [0, 255]"),
        (
            "[]main.P len: 70, cap: 80, [{X: 1},{X: 2},...+68 more]",
            "[]main.P(len 70, cap 80) [{X: 1}, {X: 2}, ...+68 more]",
        ),
        (
            "[][]int len: 2, cap: 2, [[]int len: 0, cap: 0, nil,[]int len: 1, cap: 4, [3]]",
            "[][]int [[]int nil, []int(cap 4) [3]]",
        ),
        ("*example.com/shop/cart.Cart {total: 1}", "*cart.Cart {total: 1}"),
        ('(*"example.com/shop/cart.Cart")(0xc000)', "(*cart.Cart)(0xc000)"),
        ('"example.com/shop/cart.Cart"', '"example.com/shop/cart.Cart"'),
        ("time.Time(2024-01-02T03:04:05Z){wall: 6}", "time.Time 2024-01-02T03:04:05.000000006Z"),
    ],
)
def test_a_value_is_shown_once_and_with_short_types(told, shown):
    assert values.enrich(RawValue("x", told), {}).text == shown


def test_a_container_is_counted_without_its_length():
    variable = {"indexedVariables": 137, "namedVariables": 1}

    assert values.enrich(RawValue("x", "", count=138), variable).count == 137


@pytest.mark.parametrize("name", ["~r0", ".autotmp_3", "len()", "cap()"])
def test_what_the_user_did_not_write_is_hidden(name):
    assert values.hides({"name": name})
    assert values.hides({"name": f"({name})"})
    assert not values.hides({"name": "total"})


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("* [Go 1] main.total (Thread 28661)", ""),
        ("[Go 20] main.main.func1", ""),
        ("[Go 7 name:worker-2] main.work (Thread 5)", "worker-2"),
        ("[Go 7 a:x b:y] main.work", "x y"),
        ("Dummy", ""),
    ],
)
def test_a_goroutine_is_called_by_its_labels(told, shown):
    assert frames.thread_name(told) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("main.total", "main.total"),
        ("example.com/shop/cart.(*Cart).Add", "cart.(*Cart).Add"),
        ("net/http.(*conn).serve", "http.(*conn).serve"),
        ("main.first[...]", "main.first[...]"),
    ],
)
def test_a_function_is_called_by_its_package(name, shown):
    assert frames.function_name(name) == shown


def test_code_of_others_is_known_by_its_folder(tmp_path):
    proc = tmp_path / "sdk" / "src" / "runtime" / "proc.go"
    proc.parent.mkdir(parents=True)
    proc.touch()

    for path in (
        str(tmp_path / "sdk" / "src" / "net" / "http" / "server.go"),
        "/home/me/go/pkg/mod/github.com/x/y@v1.0.0/y.go",
        "/home/me/shop/vendor/github.com/x/y/y.go",
        "/usr/lib/go-1.19/src/runtime/panic.go",
    ):
        assert frames.is_library(path, TARGET), path
    for path in ("/home/me/shop/src/main.go", "/home/me/go/src/github.com/me/shop/main.go"):
        assert not frames.is_library(path, TARGET), path


def test_a_frame_tells_what_is_waited_for():
    frame = frames.read_frame(RawFrame(1, "runtime.selectgo"), {})

    assert frame.waits == "select"
    assert frames.read_frame(RawFrame(1, "main.selectgo"), {}).waits is None


SOURCE = """package main

func plain(a, b int, c func(x int) (y int)) (sum int, err error) {
	return
}

func (c *Cart) Add(
	amount int, // of money
	more ...string,
) int {
	return 0
}

func first[T any, U ~int](items []T, by map[string][]U) T {
	return items[0]
}
"""


@pytest.mark.parametrize(
    ("line", "function", "names"),
    [
        (4, "main.plain", ["a", "b", "c"]),
        (11, "main.(*Cart).Add", ["c", "amount", "more"]),
        (15, "main.first[...]", ["items", "by"]),
        (15, "main.first[go.shape.map[string]int,go.shape.int]", ["items", "by"]),
        (4, "main.main.func1", None),
        (4, "main.nowhere", None),
    ],
)
def test_arguments_are_those_of_the_signature(tmp_path: Path, line, function, names):
    file = tmp_path / "main.go"
    file.write_text(SOURCE)

    assert frames.argument_names(str(file), line, function) == names


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ('"BOOM!"', "BOOM!"),
        ('interface {}(string) "BOOM!"', "BOOM!"),
        ('error(*errors.errorString) *{s: "it broke"}', "it broke"),
        ("interface {}(int) 42", "int 42"),
        ("runtime error: index out of range [5]", "runtime error: index out of range [5]"),
    ],
)
def test_a_panic_says_what_the_program_would(description, message):
    assert DELVE.exceptions.read is not None
    read = DELVE.exceptions.read({"exceptionId": "panic", "description": description})

    assert (read.type, read.message) == ("panic", message)


def test_the_end_is_read_from_the_words_of_an_old_one():
    read = DELVE.end.read_output

    assert read("Process 12 has exited with status 3\n") == Exit(code=3)
    assert read("Process 12 has exited with status -9\n") == Exit(signal="SIGKILL")
    assert read("hello\n") is None


def test_a_condition_that_fails_is_no_exception():
    body = {"reason": "exception", "text": "error evaluating expression: no x"}

    assert DELVE.stops.read(body) == (StopReason.BREAKPOINT, "its condition fails: no x")
    assert DELVE.stops.read({"reason": "exception", "text": "bad access"}) is None


def test_what_is_not_in_the_program_may_be_in_another():
    wanted = Wanted(1, Location(file="/p/a.go", line=3))

    def check(message: str) -> bool:
        return DELVE.breakpoints.check_bound(
            wanted, BoundBreakpoint(1, False, message=message)
        ).rejected

    assert check("1:9: expected operand, found 'EOF'")
    assert not check("could not find file /p/a.go")
    assert not check('location "f" not found')


def test_it_is_found_where_go_installs_it(tmp_path):
    for folder, env in [
        ("one", {"GOBIN": str(tmp_path / "one")}),
        ("two/bin", {"GOPATH": str(tmp_path / "two")}),
        ("home/go/bin", {"HOME": str(tmp_path / "home")}),
    ]:
        tool = tmp_path / folder / "dlv"
        tool.parent.mkdir(parents=True)
        tool.write_text("#!/bin/sh\necho 'Version: 1.25.0'\n")
        tool.chmod(0o755)
        found = DELVE.find({"PATH": "/nowhere", **env}, AdapterConfig())
        assert isinstance(found, Found)
        assert (found.path, found.version) == (str(tool), "1.25.0")
    assert isinstance(DELVE.find({"PATH": "/nowhere"}, AdapterConfig()), Missing)


SHOP = """package shop

var table = func(k int) (r int) {
	return k
}

func (s *Shop) sum(extra ...int) (total int, err error) { // (no int)
	f := func(k int) (r int) {
		return k
	}
	total, err = f(1), nil
	x, err := pair(
		f(2), "} {",
		map[string]int{"a": 1},
	)
	if y := f(
		3); y > 2 {
		total = y
	}
	for _, extra := range extra {
		total += extra
	}
	return
}

func short(k int) (n int) { n = k; return }
func types(f func(a int) (b int), any interface{}) (int, error) { return 1, nil }
func wide(
	a int,
) (
	n int,
) {
	return a
}
"""


@pytest.mark.parametrize(
    ("line", "function", "without_value"),
    [
        (3, "shop.init.func1", {"r"}),
        (4, "shop.init.func1", set()),
        (7, "shop.(*Shop).sum", {"total", "err"}),
        # The line of a closure is one of its function's too.
        (8, "shop.(*Shop).sum", set()),
        (8, "shop.(*Shop).sum.func1", {"r"}),
        # A result that is assigned once more has a value.
        (13, "shop.(*Shop).sum", {"x"}),
        (16, "shop.(*Shop).sum", set()),
        (18, "shop.(*Shop).sum", set()),
        (27, "shop.types", set()),
        (28, "shop.wide", {"n"}),
        (31, "shop.wide", {"n"}),
        (33, "shop.wide", set()),
        (99, "shop.wide", set()),
    ],
)
def test_the_source_tells_what_has_no_value_yet(tmp_path, line, function, without_value):
    path = tmp_path / "shop.go"
    path.write_text(SHOP)

    found = unset.frame_names(str(path), line, function, True)

    assert found.unset == without_value
    assert not found.perhaps


def test_what_a_closure_captures_has_no_value_at_its_first_line(tmp_path):
    path = tmp_path / "counter.go"
    path.write_text(
        "package shop\nfunc counter(step int) func(int) int {\n\tn := 0\n"
        "\treturn func(by int) int {\n\t\tn += step * by\n\t\treturn n\n\t}\n}\n"
    )

    inside = unset.frame_names(str(path), 4, "shop.counter.func1", True)

    assert {"n", "step"} <= inside.unset
    assert "by" not in inside.unset
    assert not unset.frame_names(str(path), 5, "shop.counter.func1", True).unset
    assert not unset.frame_names(str(path), 4, "shop.counter", True).unset


def test_of_a_function_of_one_line_nothing_is_claimed(tmp_path):
    path = tmp_path / "shop.go"
    path.write_text(SHOP)
    place = (str(path), 26, "shop.short")

    assert unset.frame_names(*place, True).perhaps == {"n"}
    assert not unset.frame_names(*place, False).perhaps
    assert "extra" in unset.frame_names(str(path), 11, "shop.(*Shop).sum", True).twice
    assert "extra" not in unset.frame_names(str(path), 21, "shop.(*Shop).sum", True).twice
