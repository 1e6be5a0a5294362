"""Adapters that cannot be installed here: small, as documented, and marked untested."""

from __future__ import annotations

import os

import pytest

from freezeframe.backends.backend import Attach, Launch
from freezeframe.backends.dap import adapters
from freezeframe.backends.dap.adapters._descriptor import Adapter, LaunchEnvironment
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import Unsupported

UNTESTED = [each for each in adapters.known().values() if not each.tested and not each.binaries]


def around(adapter: Adapter, path: str) -> LaunchEnvironment:
    return LaunchEnvironment(Found(path, None, (path,)), AdapterConfig(), None, "/nowhere")


@pytest.mark.parametrize("adapter", UNTESTED, ids=lambda adapter: adapter.name)
def test_one_that_is_not_here_says_what_is_missing_and_how_to_get_it(adapter, tmp_path):
    found = adapter.find({"PATH": str(tmp_path), "HOME": str(tmp_path)}, AdapterConfig())

    assert isinstance(found, Missing)
    assert found.reason
    assert adapter.install, "nothing is said to do"


@pytest.mark.parametrize("adapter", UNTESTED, ids=lambda adapter: adapter.name)
def test_a_path_in_the_configuration_is_taken(adapter, tmp_path):
    own = tmp_path / "own-adapter"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)

    found = adapter.find({"PATH": os.defpath, "HOME": str(tmp_path)}, AdapterConfig(str(own)))

    assert isinstance(found, Found), found
    assert str(own) in found.command


@pytest.mark.parametrize("adapter", UNTESTED, ids=lambda adapter: adapter.name)
def test_a_launch_names_the_program_in_the_adapters_terms(adapter, tmp_path):
    suffix = next((p for p in adapter.patterns if p.startswith("*")), "*.bin").removeprefix("*")
    program = tmp_path / f"app{suffix}"
    program.write_text("package shop\n")
    target = Launch(str(program), ("one",), str(tmp_path), {"PATH": os.defpath})

    plan = adapter.plan(target, around(adapter, "/x/y/adapter"))

    assert plan.request == "launch"
    assert plan.spawn is not None
    assert "app" in repr(plan.arguments).lower()


def test_a_source_file_of_c_sharp_says_how_to_build_it(tmp_path):
    adapter = adapters.known()["netcoredbg"]

    with pytest.raises(Unsupported) as refused:
        adapter.plan(Launch(str(tmp_path / "Shop.csproj")), around(adapter, "/x/netcoredbg"))

    assert refused.value.next is not None
    assert "dotnet build" in refused.value.next


def test_a_kotlin_file_becomes_the_class_that_kotlin_makes_of_it(tmp_path):
    adapter = adapters.known()["kotlin-debug-adapter"]
    (tmp_path / "build.gradle.kts").touch()
    source = tmp_path / "src" / "main.kt"
    source.parent.mkdir()
    source.write_text("// a shop\npackage org.shop\n\nfun main() {}\n")

    plan = adapter.plan(Launch(str(source)), around(adapter, "/x/adapter"))

    assert plan.arguments == {"projectRoot": str(tmp_path), "mainClass": "org.shop.MainKt"}


def test_a_mix_project_runs_the_task_that_is_named(tmp_path):
    adapter = adapters.known()["elixir-ls"]
    mix = tmp_path / "mix.exs"
    mix.touch()

    plan = adapter.plan(Launch(str(mix), ("test", "--trace")), around(adapter, "/x/adapter"))

    assert plan.arguments["task"] == "test"
    assert plan.arguments["taskArgs"] == ["--trace"]
    assert plan.arguments["projectDir"] == str(tmp_path)


def test_a_script_that_node_runs_is_found_where_an_editor_keeps_it(tmp_path):
    adapter = adapters.known()["php-debug"]
    old, new = (
        tmp_path / ".vscode" / "extensions" / f"xdebug.php-debug-{version}" / "out" / "phpDebug.js"
        for version in ("1.33.0", "1.35.0")
    )
    node = tmp_path / "node"
    for file in (old, new, node):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)

    found = adapter.find({"PATH": str(tmp_path), "HOME": str(tmp_path)}, AdapterConfig())

    assert found == Found(str(new), None, (str(node), str(new)))


def test_one_that_only_starts_programs_refuses_to_join_one():
    adapter = adapters.known()["dart"]

    with pytest.raises(Unsupported) as refused:
        adapter.plan(Attach(pid=1), around(adapter, "/x/dart"))

    assert refused.value.next == "dbg start PROGRAM"
