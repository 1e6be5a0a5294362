"""Names of Rust functions, as users write them, against the symbols of rustc."""

from __future__ import annotations

import pytest

from freezeframe.backends import rust_symbols

CIRCLE = "_ZN44_$LT$shop..Circle$u20$as$u20$shop..Shape$GT$4area17hd3f492f19d87175cE"
SQUARE = "_ZN44_$LT$shop..Square$u20$as$u20$shop..Shape$GT$4area17hfee00735d4b12c6dE"
GENERIC = "_ZN4shop14Stack$LT$T$GT$4push17hc2c475bb0039e341E"
PLAIN = "_ZN4shop5inner5total17h229178c596035312E"

V0_CIRCLE = "_RNvXCs6mEINUzFH5k_4shopNtB2_6CircleNtB2_5Shape4area"
V0_NESTED = "_RNvXNtNtCs6mEINUzFH5k_4shop5inner4deepNtB2_1WNtB6_5Shape4area"
V0_STACK = "_RNvXs3_Cs6mEINUzFH5k_4shopINtB5_5StackhENtB5_5Shape4areaB5_"
V0_PUSH = "_RNvMs1_Cs6mEINUzFH5k_4shopINtB5_5StackhE4pushB5_"
V0_CLOSURE = "_RNCNvXCs6mEINUzFH5k_4shopNtB4_6CircleNtB4_5Shape4area0B4_"


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


@pytest.mark.parametrize(
    ("name", "symbols"),
    [
        ("Shape::area", [V0_CIRCLE, V0_NESTED, V0_STACK]),
        ("<Circle as Shape>::area", [V0_CIRCLE]),
        ("W::area", [V0_NESTED]),
        ("inner::deep::W::area", [V0_NESTED]),
        ("<Stack as Shape>::area", [V0_STACK]),
        ("Stack::push", [V0_PUSH]),
        ("shop::Stack<u8>::push", [V0_PUSH]),
        ("Square::area", []),
    ],
)
def test_a_name_means_functions_whose_symbols_are_of_the_v0_scheme(tmp_path, name, symbols):
    program = tmp_path / "shop"
    known = (V0_CIRCLE, V0_NESTED, V0_STACK, V0_PUSH, V0_CLOSURE)
    program.write_bytes(b"\0".join(each.encode() for each in known))

    assert rust_symbols.matching(str(program), name) == sorted(symbols)


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        (CIRCLE, "<shop::Circle as shop::Shape>::area"),
        (PLAIN, "shop::inner::total"),
        (V0_NESTED, "<shop::inner::deep::W as shop::Shape>::area"),
        (V0_STACK, "<shop::Stack<u8> as shop::Shape>::area"),
        (V0_PUSH, "shop::Stack<u8>::push"),
        (V0_CLOSURE, "<shop::Circle as shop::Shape>::area::{closure#0}"),
        ("_RNvXs_CsA_4shopRSeNtB4_5Shape4area", "<&[str] as shop::Shape>::area"),
        ("_RNvXs_CsA_4shopAhj3_TlbENtB4_5Shape4area", None),
        ("_RNvXs_CsA_4shopTAhj3_bENtB4_5Shape4area", "<([u8; 3], bool) as shop::Shape>::area"),
        ("_RNvXs_CsA_4shopFllEbNtB4_5Shape4area", "<fn(i32, i32) -> bool as shop::Shape>::area"),
        ("_RNvXs_CsA_4shopDNtB4_3TryEL_NtB4_5Shape4area", "<dyn shop::Try as shop::Shape>::area"),
        ("_RNvMs_CsA_4shope4trim", "<str>::trim"),
        ("_RNvB_4area", None),
        ("_R", None),
        ("main", None),
    ],
)
def test_a_symbol_names_its_function_as_a_user_writes_it(symbol, name):
    assert rust_symbols.readable(symbol) == name
