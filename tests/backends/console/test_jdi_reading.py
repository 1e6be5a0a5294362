"""Parsing of the Java agent's answers."""

from __future__ import annotations

import json
from urllib.parse import unquote

from freezeframe.backends.backend import Launch
from freezeframe.backends.console.debuggers.jdi import Jdb
from freezeframe.backends.console.prompt.command_set import FrameRef
from freezeframe.config import AdapterConfig
from freezeframe.model.values import ScopeKind


def test_kotlin_s_markers_of_inlined_code_are_not_variables():
    names = ("name", "$i$f$map", "$this$map$iv", "$i$a$-map-ShopKt$main$1")
    answer = json.dumps(
        {"values": [{"name": name, "text": "0"} for name in names], "arguments": []}
    )

    shown = Jdb("bin").scope(ScopeKind.LOCALS, FrameRef(1, 0)).read(answer)

    assert [each.name for each in shown] == ["name", "$this$map$iv"]


def test_a_build_gets_the_agent_for_the_jvm_that_it_starts():
    jdb = Jdb("bin")
    env = {"PATH": "", "CLASSPATH": "/p/a.jar"}

    def run(*args: str) -> list[str]:
        target = Launch("org.x.Main", args, cwd="/p", module=True, env=env)
        jdb.begin(target, AdapterConfig())
        return unquote(jdb.run(target)).split()

    assert "{agent}" in run("test")
    build = run("test", "-Dfreezeframe.agent=")
    assert "-Dfreezeframe.agent={agent}" in build
    assert "{agent}" not in build
