"""What a function of Rust returned: neither gdb nor LLDB knows Rust's calling convention."""

from __future__ import annotations

RETURNS = r"""
struct Point { x: i32, y: i32 }
struct Floats { a: f32, b: f32, c: f32 }
#[inline(never)] fn pair() -> (u8, u32) { (3, 4) }
#[inline(never)] fn point() -> Point { Point { x: 5, y: 6 } }
#[inline(never)] fn floats() -> Floats { Floats { a: 1.5, b: 2.5, c: 3.5 } }
#[inline(never)] fn array() -> [i32; 3] { [7, 8, 9] }
#[inline(never)] fn wide() -> u128 { (1u128 << 70) + 5 }
#[inline(never)] fn some(k: i32) -> Option<i32> { if k > 0 { Some(k) } else { None } }
#[inline(never)] fn fine(k: i32) -> Result<i32, String> {
    if k > 0 { Ok(k) } else { Err("bad".into()) }
}
#[inline(never)] fn list() -> Vec<i32> { vec![1, 2, 3] }
#[inline(never)] fn small() -> i8 { -3 }
fn main() {
    let p = point();
    let f = floats();
    pair();
    array();
    wide();
    some(3);
    some(0);
    let _ = fine(4);
    let _ = fine(0);
    list();
    small();
    println!("{} {}", p.x + p.y, f.a + f.b + f.c);
}
"""
RETURNED = [
    "Point(x=5, y=6)",
    "Floats(a=1.5, b=2.5, c=3.5)",
    "(3, 4)",
    "(7, 8, 9)",
    "1180591620717411303429",
    "Some(3)",
    "None",
    "Ok(4)",
    'Err("bad")',
    "Vec(1, 2, 3)",
    "-3",
]


def test_a_returned_value_is_told_right_in_registers_and_in_memory(dbg, native):
    p = native(RETURNS)
    names = ("pair", "point", "floats", "array", "wide", "some", "fine", "list", "small")
    report = dbg.data("start", p.name, *(word for name in names for word in ("-b", f"app::{name}")))
    found = []
    while report["state"] == "stopped":
        text = dbg("finish").out.partition("returned ")[2].partition("\n")[0]
        found.append("(7, 8, 9)" if text.endswith("](7, 8, 9)") else text)
        report = dbg.data("continue")

    assert found == RETURNED
