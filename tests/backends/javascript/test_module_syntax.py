"""What a text shows of exports, of its first statement, and of being a module."""

from __future__ import annotations

import pytest

from freezeframe.backends.javascript.exports import is_export
from freezeframe.backends.javascript.js_scanner import functions
from freezeframe.backends.javascript.module_syntax import (
    begins_with_private_class,
    has_imports_or_exports,
)


@pytest.mark.parametrize(
    ("code", "exports"),
    [
        ("__export(cart_exports, {\n  run: () => run\n});", True),
        ("__export(x,{run:()=>run});", True),
        ("__webpack_require__.d(e, { run: () => (/* binding */ run) });", True),
        ("const o = { run: function () { return m.run; } };", True),
        ("const run = () => runs;", False),
        ("function run(n) { return n; }", False),
        ("const o = { run() { return this.run(); } };", False),
    ],
)
def test_a_function_that_only_returns_its_own_name_is_an_export(code, exports):
    [function] = [each for each in functions(code) if each.name.endswith("run")]

    assert is_export(code, function) is exports


@pytest.mark.parametrize(
    ("code", "begins"),
    [
        ("// a comment\nclass A {\n  #x = 1;\n}\n", True),
        ("export default class extends B { #run() {} }", True),
        ("class A { x = 1 }\nclass B { #x = 1 }", False),
        ("import fs from 'fs';\nclass A { #x = 1; }", False),
        ("", False),
    ],
)
def test_a_program_that_begins_with_a_class_with_private_names_is_recognised(code, begins):
    assert begins_with_private_class(code) is begins


@pytest.mark.parametrize(
    ("code", "is_module"),
    [
        ("const a = 1;\nexport { a };", True),
        ("import 'x';", True),
        ("import('x'); import.meta; o.export = 1; (() => { })();", False),
    ],
)
def test_a_module_is_recognised_by_its_statements(code, is_module):
    assert has_imports_or_exports(code) is is_module
