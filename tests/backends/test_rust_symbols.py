"""Names of Rust functions, as users write them, against the symbols of rustc."""

from __future__ import annotations

import pytest

from freezeframe.backends import rust_symbols

CIRCLE = "_ZN44_$LT$shop..Circle$u20$as$u20$shop..Shape$GT$4area17hd3f492f19d87175cE"
SQUARE = "_ZN44_$LT$shop..Square$u20$as$u20$shop..Shape$GT$4area17hfee00735d4b12c6dE"
GENERIC = "_ZN4shop14Stack$LT$T$GT$4push17hc2c475bb0039e341E"
PLAIN = "_ZN4shop5inner5total17h229178c596035312E"


@pytest.mark.parametrize(
    ("name", "symbols"),
    [
        ("Shape::area", [CIRCLE, SQUARE]),
        ("<Circle as Shape>::area", [CIRCLE]),
        ("<shop::Circle as shop::Shape>::area", [CIRCLE]),
        ("Square::area", [SQUARE]),
        ("Stack::push", [GENERIC]),
        ("Stack<i32>::push", [GENERIC]),
        ("shop::Stack<T>::push", [GENERIC]),
        ("inner::total", [PLAIN]),
        ("total", []),
        ("Triangle::area", []),
        ("ack::push", []),
    ],
)
def test_a_name_means_the_functions_that_a_reader_would_expect(tmp_path, name, symbols):
    program = tmp_path / "shop"
    program.write_bytes(b"\0".join(each.encode() for each in (CIRCLE, SQUARE, GENERIC, PLAIN)))

    assert rust_symbols.matching(str(program), name) == symbols
