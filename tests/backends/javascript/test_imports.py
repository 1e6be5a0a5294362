"""Imported names of a source, and the variables of compiled code that hold their modules."""

from __future__ import annotations

from freezeframe.backends.javascript.imports import Import, imports_of, is_holder, is_named_after


def test_every_form_of_an_import_is_read_by_the_name_it_has_in_the_source():
    text = (
        "import def, { a, b as c, type T } from './cart.js';\n"
        "import * as path from \"node:path\";\nimport fs from 'fs';\nimport './side';\n"
        "import type { Only } from './types';\nconst x = import('./late');\n"
        "import {\n  many,\n  lines,\n} from '../far/away';\n"
    )

    found = imports_of(text)

    assert found["def"] == Import("./cart.js", "default")
    assert found["c"] == Import("./cart.js", "b")
    assert found["path"] == Import("node:path", None)
    assert found["lines"] == Import("../far/away", "lines")
    assert set(found) == {"def", "a", "c", "T", "path", "fs", "many", "lines"}


def test_variables_of_compilers_are_known_by_their_form():
    for name in ("__vite_ssr_import_1__", "import_node_fs", "cart_1", "_cart"):
        assert is_holder(name)
    assert not is_holder("cart")
    assert is_named_after("import_cart", "./lib/cart.js")
    assert not is_named_after("import_cart", "./lib/shop.js")
