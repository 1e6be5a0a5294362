"""What the probe in a Java machine tells, as it is shown."""

from __future__ import annotations

import json

from freezeframe.backends.console.debuggers.jdb import Jdb
from freezeframe.backends.console.prompt.spelling import At
from freezeframe.model.values import ScopeKind


def test_what_kotlin_s_compiler_marks_inlined_code_with_is_no_variable():
    names = ("name", "$i$f$map", "$this$map$iv", "$i$a$-map-ShopKt$main$1")
    told = json.dumps({"values": [{"name": name, "text": "0"} for name in names], "arguments": []})

    shown = Jdb("bin").scope(ScopeKind.LOCALS, At(1, 0)).read(told)

    assert [each.name for each in shown] == ["name", "$this$map$iv"]
