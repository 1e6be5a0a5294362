"""Lines with nothing but a brace, and entries of maps, as gdb shows them of Rust."""

from __future__ import annotations

import re

from harness.reports import shown, texts

# What unwinds a panic has the line of a brace too, and lies before what runs otherwise.
BRACES = r"""
use std::collections::{BTreeMap, HashMap};

fn join(n: usize) -> String {
    let mut out = String::new();
    for i in 0..n {
        let part = format!("{i}");
        out.push_str(&part);
    } // @inner
    out
}

fn main() {
    let mut counts: HashMap<String, i32> = HashMap::from([("a".to_string(), 1)]);
    let mut deep: BTreeMap<u32, BTreeMap<u32, Vec<i32>>> = BTreeMap::new();
    deep.entry(1).or_default().insert(2, vec![3]);
    // Where `vec!` gets no memory it calls a function that never returns.
    let list = vec![1, 2, 3];
    let mut sum = 0;
    while sum < 2 {
        sum += list[0];
    }
    let text = join(2);
    println!("{}", text); // @before
    counts.insert("b".to_string(), 2);
    deep.get_mut(&1).unwrap().get_mut(&2).unwrap().push(4);
    println!("{} {}", counts.len(), deep.len()); // @changed
} // @last
"""


def test_a_brace_is_come_to_and_entries_are_told_by_their_keys(dbg, native, debugger):
    p = native(BRACES)
    assert shown(dbg.data("start", p.name, "-b", p.at("inner"))) == p.at("inner")
    assert shown(dbg.data("continue")) == p.at("inner")
    for place in ("before", "changed", "last"):
        dbg.data("break", p.at(place))
    before = texts(dbg.data("continue"))
    changed = dbg("continue").out

    assert before["sum"] == "2"
    if debugger.name == "gdb-mi":
        assert '* counts["b"] = 2 (new)\n' in changed
        assert "* deep[1][2][1] = 4 (new)\n" in changed
    else:
        # The texts that gdb itself makes; a HashMap has no order.
        assert re.search(r'\* counts = .*"b": 2.* \(was .*"a": 1\}\)\n', changed)
    assert "object(" not in changed
    assert shown(dbg.data("continue")) == p.at("last")


VALUES = r"""
use std::cell::{Cell, OnceCell};
use std::collections::LinkedList;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

trait Shape { fn area(&self) -> f64; }
struct Square { side: f64 }
impl Shape for Square { fn area(&self) -> f64 { self.side * self.side } }
enum Kind { Small, Big(u32) }
struct Item { name: String, kind: Kind, next: Option<Box<i32>>, shared: Rc<str> }

fn visit(item: &Item, n: usize) -> usize {
    let length = item.name.len() + n;
    println!("{}", length); // @visit
    length
}

fn main() {
    let text: Rc<str> = Rc::from("hello");
    let some: Option<Arc<str>> = Some(Arc::from("in"));
    let parts: Rc<[i32]> = Rc::from(vec![1, 2]);
    let boxed: Box<str> = Box::from("boxed");
    let shape: Box<dyn Shape> = Box::new(Square { side: 2.0 });
    let counted: Rc<dyn Shape> = Rc::new(Square { side: 3.0 });
    let path: &Path = Path::new("/usr");
    let home = PathBuf::from("/home");
    let wait = Duration::from_millis(1500);
    let cell = Cell::new(9);
    let once: OnceCell<i32> = OnceCell::new();
    let list: LinkedList<i32> = LinkedList::from([1, 2]);
    let failed = std::io::Error::from_raw_os_error(2);
    let custom = std::io::Error::new(std::io::ErrorKind::Other, "oops");
    let error: Box<dyn std::error::Error> = "bad".into();
    let lock = Mutex::new(7);
    let guard = lock.lock().unwrap();
    println!("{} {}", *guard, shape.area() + counted.area()); // @values
    println!("{:?}", (text, some, parts, boxed, path, home, wait, cell, once, list, failed, error));
    println!("{:?}", custom);
    let items = [
        Item { name: "ann".into(), kind: Kind::Small, next: None, shared: "x".into() },
        Item { name: "bob".into(), kind: Kind::Big(3), next: Some(4.into()), shared: "y".into() },
    ];
    for i in 0..20 { visit(&items[i % 2], i); }
    if let Kind::Big(n) = items[1].kind { println!("{} {:?}", n, items[1].next); }
    println!("{}", items[1].shared);
}
"""
SHOWN = {
    "text": 'Rc("hello")',
    "some": 'Some(Arc("in"))',
    "parts": "Rc([1, 2])",
    "boxed": '"boxed"',
    "counted": "Rc(Square {side: 3})",
    "path": '"/usr"',
    "home": '"/home"',
    "wait": "1.5s",
    "cell": "Cell(9)",
    "once": "OnceCell(<uninit>)",
    "failed": 'Os {code: 2, message: "No such file or directory"}',
    "custom": 'Custom {kind: Other, error: "oops"}',
    "error": '"bad"',
    "lock": "Mutex(7)",
    "guard": "MutexGuard(7)",
}
READ = {
    "text.len()": "5",
    "parts[1] + 1": "3",
    "counted.side": "3",
    "shape.side": "2",
    "*guard == 7 && parts.len() == 2": "true",
    'text == "hello"': "true",
    'home.starts_with("/h")': "true",
    "cell.get()": "9",
    "list.len() > 2 || some.is_none()": "false",
}
#: conditions that hold for the second of two items
HOLDING = (
    'item.name == "bob"',
    "item.name.len() == 3 && n % 2 == 1",
    "item.next.is_some()",
    'item.shared == "y"',
    "item.kind == Kind::Big(3)",
    "item.next != None",
    'item.name.starts_with("b")',
)


def test_values_of_the_standard_library_are_shown_as_rust_writes_them(dbg, native):
    p = native(VALUES)
    dbg.data("start", p.name, "-b", p.at("values"))
    found = texts(dbg.data("locals"))

    assert {name: found[name] for name in SHOWN} == SHOWN
    assert "LinkedList(1, 2)" in dbg("print", "list").out or "[1, 2]" in dbg("print", "list").out
    assert re.search(r"0x\w+ (?:-> )?Square[ (]", dbg("print", "shape").out)
    assert {each: dbg.data("print", each)["value"]["text"] for each in READ} == READ

    for each in HOLDING:
        dbg.data("break", p.at("visit"), "-c", each)
        dbg.data("continue")
        assert dbg.data("print", "item.name")["value"]["text"] == '"bob"', each
    dbg.data("break", p.at("visit"), "-c", "item.next.unwrap() == 5")
    assert "fails: it is None: unwrap() would panic" in dbg("continue").out
