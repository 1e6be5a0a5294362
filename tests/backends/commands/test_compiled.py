"""Commands of cargo and go: every word goes to the tool or to the program."""

from __future__ import annotations

import os
import shutil

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.commands import cargo, go
from freezeframe.backends.transport.run_command import run
from freezeframe.errors import UsageError

from .test_resolve import Tools, found, write

LIB = "pub fn add(a: i32, b: i32) -> i32 { a + b }\n"
MAIN = "fn main() {}\n"
MANIFEST = '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'


def need(command: str) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"apt-get install {command}")


@pytest.mark.parametrize(
    ("line", "build", "test", "packages", "args"),
    [
        ("-tags special . a -v", ("-tags", "special"), (), (".",), ("a", "-v")),
        ("-race ./cmd/app", ("-race",), (), ("./cmd/app",), ()),
        ("a.go b.go c", (), (), ("a.go", "b.go"), ("c",)),
        ("-ldflags=-s . x", ("-ldflags=-s",), (), (".",), ("x",)),
    ],
)
def test_arguments_of_go_run_are_classified(line, build, test, packages, args):
    got = go.read(tuple(line.split()), tests=False)
    assert (got.build, got.test, got.packages, got.args) == (build, test, packages, args)


@pytest.mark.parametrize(
    ("line", "build", "test", "packages", "args"),
    [
        ("-run X ./pkg -v", (), ("-test.run", "X", "-test.v"), ("./pkg",), ()),
        ("-tags=a -count=1 ./...", ("-tags=a",), ("-test.count=1",), ("./...",), ()),
        ("./pkg -update -args x", (), (), ("./pkg",), ("-update", "x")),
        ("-race -json -timeout 3s", ("-race",), (), (), ()),
    ],
)
def test_arguments_of_go_test_are_classified(line, build, test, packages, args):
    got = go.read(tuple(line.split()), tests=True)
    assert (got.build, got.test, got.packages, got.args) == (build, test, packages, args)


@on_loop
async def test_the_failing_one_of_several_packages_is_chosen(tmp_path):
    need("go")
    write(tmp_path / "go.mod", "module x\ngo 1.20\n")
    passes = 'import "testing"\nfunc TestA(t *testing.T) {}\n'
    write(tmp_path / "a" / "a_test.go", f"package a\n{passes}")
    write(tmp_path / "b" / "b_test.go", f"package b\n{passes.replace('{}', '{ t.Fail() }')}")

    got = (await found(tmp_path, "go test ./...")).program

    assert got.recipe is not None
    assert got.recipe.argv[-1] == "x/b"
    assert got.recipe.run_in == str(tmp_path / "b")
    assert "other packages with tests: ./a" in got.remarks[-1]


@pytest.mark.parametrize(
    ("line", "own", "args"),
    [
        ("run --bin x a --b", ("--bin", "x"), ("a", "--b")),
        ("run --features=y -- a -- b", ("--features=y",), ("a", "--", "b")),
        ("run -p shop --release", ("-p", "shop", "--release"), ()),
        ("test --test it NAME", ("--test", "it"), ("NAME",)),
        ("test NAME -pshop -- --nocapture", ("-pshop",), ("NAME", "--nocapture")),
    ],
)
def test_arguments_of_cargo_are_classified(line, own, args):
    _, verb, rest = cargo._verb(("cargo", *line.split()))
    assert cargo._split(rest, plain_is_argument=verb == "run") == (own, args)


@on_loop
async def test_cargo_builds_in_the_project_and_debugs_the_failing_test(tmp_path):
    need("cargo")
    write(
        tmp_path / "Cargo.toml", '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n'
    )
    write(tmp_path / "src" / "lib.rs", f"{LIB}#[test]\nfn unit() {{ assert_eq!(add(1, 2), 3); }}\n")
    write(tmp_path / "src" / "main.rs", MAIN)
    write(tmp_path / "tests" / "it.rs", "#[test]\nfn whole() { assert_eq!(shop::add(1, 2), 4); }\n")

    everything = (await found(tmp_path, "cargo test --offline")).program
    one = (await found(tmp_path, "cargo test --offline unit -- --nocapture")).program
    nothing = (await found(tmp_path, "cargo test --offline nosuch")).program
    program = (await found(tmp_path, "cargo run --offline -q a -- b")).program

    assert everything.name == "it-tests"
    assert "the others: cargo test" in everything.remarks[0]
    assert "has a test that matches `nosuch`" in nothing.remarks[0]
    assert (one.name, one.args) == ("shop-tests", ("unit", "--nocapture"))
    assert program.args == ("a", "--", "b")
    for each in (everything, one, program):
        assert each.program.startswith(str(tmp_path / "target" / "debug")), each.program
    # What was built is what the user's own command uses.
    argv = ("cargo", "test", "--offline", "--no-run", "-v")
    again = await run(argv, cwd=str(tmp_path), env=dict(os.environ), timeout_s=60)
    assert "Fresh shop" in again.err, again.err


@on_loop
async def test_commands_that_run_nothing_are_refused_with_one_that_does(tmp_path):
    need("cargo")
    with pytest.raises(UsageError) as caught:
        await found(tmp_path, "cargo build", Tools())
    assert caught.value.next == "dbg start cargo run"
