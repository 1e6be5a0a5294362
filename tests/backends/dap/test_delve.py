"""What is read from delve without delve: its names, its values, its last words."""

from __future__ import annotations

from pathlib import Path

import pytest

from freezeframe.backends.backend import BoundBreakpoint, Launch, RawFrame, RawValue
from freezeframe.backends.backend import WantedBreakpoint as Wanted
from freezeframe.backends.dap.adapters import known
from freezeframe.backends.dap.adapters.delve import places, values
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.model.places import Location
from freezeframe.model.stops import Exit, StopReason

DELVE = known()["delve"]
TARGET = Launch("/p/app")


def test_a_function_of_the_program_s_own_package_is_meant_first(tmp_path):
    (tmp_path / "a.go").write_text("package main\n\nfunc check() {}\n")
    alias, target = DELVE.breakpoints.function_alias, Launch("app", cwd=str(tmp_path))

    named = [alias(target, name) for name in ("main", "check", "Print", "fmt.Print")]

    assert named == ["main.main", "main.check", "Print", "fmt.Print"]


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("34 = 0x22", "34"),
        ("ByteConst (255) = 0xff", "ByteConst (255)"),
        ("[3]int [1,2,3]", "[3]int [1, 2, 3]"),
        ('[]string len: 1, cap: 1, ["a,b = 0x1"]', '[]string ["a,b = 0x1"]'),
        ('map[string]int ["a": 1, "b": 2, ]', 'map[string]int ["a": 1, "b": 2]'),
        ("[]uint8 len: 2, cap: 8, [104,105]", '[]uint8(cap 8) "hi"'),
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
    assert places.thread_name(told) == shown


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
    assert places.function_name(name) == shown


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
        assert places.is_library(path, TARGET), path
    for path in ("/home/me/shop/src/main.go", "/home/me/go/src/github.com/me/shop/main.go"):
        assert not places.is_library(path, TARGET), path


def test_a_frame_tells_what_is_waited_for():
    frame = places.read_frame(RawFrame(1, "runtime.selectgo"), {})

    assert frame.waits == "select"
    assert places.read_frame(RawFrame(1, "main.selectgo"), {}).waits is None


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
        (4, "main.main.func1", None),
        (4, "main.nowhere", None),
    ],
)
def test_arguments_are_those_of_the_signature(tmp_path: Path, line, function, names):
    file = tmp_path / "main.go"
    file.write_text(SOURCE)

    assert places.argument_names(str(file), line, function) == names


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
