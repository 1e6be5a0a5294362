"""What Rust adds: panics with their message, the types of std, names without hashes, cargo."""

from __future__ import annotations

import re
import subprocess

import pytest

from harness import programs
from harness.reports import bare, frame_of, functions, place, printed, shown, texts, unreadable
from harness.requirements import need

VALUES = r"""
#![allow(unused)]
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

#[derive(Debug)]
enum Shape {
    Empty,
    Circle(f64),
    Rect { width: u32, height: u32 },
}

#[derive(Debug)]
struct Point {
    x: i32,
    y: i32,
}

impl Point {
    fn shift(&mut self, by: i32) -> i32 {
        self.x += by; // @method
        self.x
    }
}

trait Speak {
    fn speak(&self) -> String;
}

impl Speak for Point {
    fn speak(&self) -> String {
        format!("{} {}", self.x, self.y) // @trait
    }
}

fn first<T: Clone>(items: &[T]) -> T {
    items[0].clone() // @generic
}

fn main() {
    let numbers = vec![1, 2, 3];
    let text = String::from("hello");
    let slice = &numbers[1..];
    let word: &str = "word";
    let some = Some(8);
    let none: Option<i32> = None;
    let fine: Result<i32, String> = Ok(9);
    let boxed = Box::new(Point { x: 10, y: 11 });
    let shared = Rc::new(12);
    let cell = RefCell::new(13);
    let locked = Arc::new(Mutex::new(14));
    let mut ages = HashMap::new();
    ages.insert("ann", 30);
    let mut queue = VecDeque::new();
    queue.push_back(15);
    let tree: BTreeMap<i32, &str> = (0..30).map(|key| (key, "leaf")).collect();
    let speaker: Box<dyn Speak> = Box::new(Point { x: 17, y: 18 });
    let circle = Shape::Circle(1.5);
    let rect = Shape::Rect { width: 2, height: 3 };
    let tuple = (16, 'z', true);
    let mut point = Point { x: 1, y: 2 };
    let letter = 'ä';
    let unmade: std::mem::MaybeUninit<Rc<i32>> = std::mem::MaybeUninit::zeroed();
    let add = |by: i32| {
        by + numbers[0] // @closure
    };
    let sum = add(5); // @here
    point.shift(4);
    println!("{sum} {} {}", point.speak(), first(&numbers));
}
"""

PANICS = r"""
use std::fmt::Debug;

fn pick<T: Copy + Debug>(items: &[T], index: usize) -> T {
    items[index] // @panic
}

struct Order {
    items: [i32; 3],
    index: usize,
    name: String,
}

fn serve(order: Order) -> i32 {
    println!("{}", order.name);
    pick(&order.items, order.index)
}

fn main() {
    let order = Order { items: [1, 2, 3], index: 7, name: "an order".into() };
    let worker = std::thread::Builder::new()
        .name("worker".into())
        .spawn(|| serve(order))
        .unwrap();
    let ended = worker.join();
    println!("worker failed: {}", ended.is_err());
    let text: Result<i32, _> = "x".parse::<i32>();
    text.unwrap(); // @unwrap
}
"""


# --- panics -------------------------------------------------------------------------------------


def test_a_panic_in_a_thread_is_reported_with_its_message_and_line(dbg, native):
    p = native(PANICS)

    report = dbg.data("start", p.name)

    assert report["stop"]["reason"] == "exception"
    assert report["stop"]["exception"]["type"] == "panic"
    message = report["stop"]["exception"]["message"]
    assert message == "index out of bounds: the len is 3 but the index is 7"
    assert shown(report) == p.at("panic")
    assert texts(report)["index"] == "7"
    assert report["stop"]["thread"]["name"] == "worker"
    file = p.at("panic").partition(":")[0]
    own = [line for line in dbg("backtrace").out.splitlines() if file in line]
    assert own
    assert "optimized" not in " ".join(own)


def test_a_second_panic_is_reported_with_its_own_message(dbg, native):
    p = native(PANICS)
    dbg.data("start", p.name)

    report = dbg.data("continue")

    assert "ParseIntError" in report["stop"]["exception"]["message"]
    assert shown(report) == p.at("unwrap")
    assert dbg.data("continue")["exit"]["code"] == 101
    assert "worker failed: true" in printed(dbg.data("output", "--all"))


CAPTURED = r"""
#[test]
fn formatted() { let left = 3; assert_eq!(left, 4, "sum \u{e9}"); }

#[test]
fn constant() { panic!("just words"); }

#[test]
fn owned() { std::panic::panic_any(String::from("own words")); }

#[test]
fn strange() { std::panic::panic_any(7); }
"""


def test_a_panic_that_the_test_harness_captures_has_its_message(dbg, native):
    p = native(CAPTURED, "--test")

    report = dbg.data("start", p.name, "--", "--test-threads=1")

    assert report["stop"]["exception"]["message"] == "just words"
    report = dbg.data("continue")
    message = report["stop"]["exception"]["message"]
    assert message == "assertion `left == right` failed: sum é\n  left: 3\n right: 4"
    assert texts(report)["left"] == "3"
    said = [dbg.data("continue")["stop"]["exception"]["message"] for _ in range(2)]
    assert said == ["own words", ""]
    assert dbg.data("continue")["exit"]["code"] == 101


def test_panics_can_be_let_go(dbg, native):
    p = native(PANICS)
    dbg.data("catch", "off")

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated"
    assert report["exit"]["code"] == 101


# --- macros -------------------------------------------------------------------------------------

MACROS = r"""
fn label(n: i32) -> String {
    format!("{}-{}", n, n + 1) // @format
} // @end

fn main() {
    let mut all = Vec::new();
    for n in 0..3 {
        all.push(label(n));
        println!("{} {}", n, all.len()); // @print
    }
}
"""


def test_a_line_with_a_macro_stops_counts_and_is_logged_once_each_time_it_is_run(dbg, native):
    p = native(MACROS)
    dbg.data("break", p.at("print"), "--log", "saw {n}")
    counted = dbg.data("break", p.at("format"), "--hit-count", ">=2")["breakpoint"]["id"]

    report = dbg.data("start", p.name)

    assert (shown(report), texts(report)["n"]) == (p.at("format"), "1")
    stepped = dbg.data("next")
    assert shown(stepped) != p.at("format")
    again = dbg.data("continue")
    assert (again["stop"]["breakpoints"], texts(again)["n"]) == ([counted], "2")
    dbg.data("continue")
    assert printed(dbg.data("output", "--all"), "log") == "saw 0\nsaw 1\nsaw 2\n"


# --- values -------------------------------------------------------------------------------------


@pytest.fixture
def values(dbg, native):
    p = native(VALUES)
    dbg.data("start", p.name, "-b", p.at("here"))
    return p


READABLE = {
    "numbers": r"1, 2, 3",
    "text": r"\"hello\"",
    "slice": r"2, 3",
    "word": r"\"word\"",
    "some": r"Some.*8",
    "none": r"None",
    "fine": r"Ok.*9",
    "boxed": r"x.*10.*y.*11",
    "shared": r"12",
    "cell": r"13",
    "locked": r"14",
    "ages": r"ann.*30",
    "queue": r"15",
    "tree": r"0\W+leaf.*1\W+leaf.*2\W+leaf",
    "speaker": r"0x[0-9a-f]+ -> Point\(x=17, y=18\)",
    "circle": r"Circle.*1\.5",
    "rect": r"Rect.*2.*3",
    "tuple": r"16.*z.*true",
    "letter": r"ä",
}


REFERENCES = r"""
fn main() {
    let bytes = [1u8, 200, 3];
    let byte = &bytes[1];
    let sign = 'x';
    let letter = &sign;
    let count = std::sync::atomic::AtomicUsize::new(7);
    println!("{byte} {letter} {count:?}");  // @here
}
"""


def test_a_reference_to_a_byte_or_a_character_is_no_string(dbg, native):
    p = native(REFERENCES)
    dbg.data("start", p.name, "-b", p.at("here"))

    told = dbg("locals").out

    readable = {"bytes": r"1, ?200, ?3", "byte": r"^0x[0-9a-f]+( -> 200)?$", "count": r"7"}
    assert unreadable(told, {**readable, "letter": r"^0x[0-9a-f]+ -> 'x'$"}) == []


def test_values_of_std_are_readable_in_one_line(dbg, values):
    told = dbg("locals", "--budget", 4000).out

    assert unreadable(told, READABLE) == []


def test_fields_are_reached_and_set(dbg, values):
    assert dbg.data("print", "point.y")["value"]["text"] == "2"
    assert dbg.data("set", "point.y", "20")["value"]["text"] == "20"

    ended = dbg.data("continue")

    assert "6 5 20 1" in printed(ended)


def test_nothing_of_the_debugger_s_own_is_said_to_the_user(dbg, values):
    everything = dbg.data("output", "--all")

    assert printed(everything, "console", "log") == ""


NICHES = r"""
#![allow(unused)]
fn main() {
    let no_text: Option<String> = None;
    let empty_text: Option<String> = Some(String::new());
    let some_text: Option<String> = Some(String::from("here"));
    let no_list: Option<Vec<i32>> = None;
    let empty_list: Option<Vec<i32>> = Some(vec![]);
    let good: Result<i32, String> = Ok(9);
    let bad: Result<i32, String> = Err(String::new());
    let no_box: Option<Box<i32>> = None;
    let some_box: Option<Box<i32>> = Some(Box::new(5));
    let no_word: Option<&str> = None;
    let less = Some(std::cmp::Ordering::Less);
    let nested: Option<Option<bool>> = Some(None);
    let unit = ();
    let pair = ("key", vec![7, 8]);
    let boxed: Box<[i32]> = vec![3, 4].into_boxed_slice();
    let shared: std::rc::Rc<str> = "shared".into();
    let raw: Option<*const i32> = Some(8 as *const i32);
    println!("niches"); // @here
}
"""


def test_a_variant_whose_tag_is_hidden_in_its_data_is_told_right(dbg, native, debugger):
    p = native(NICHES)
    dbg.data("start", p.name, "-b", p.at("here"))

    told = dbg("locals", "--budget", 4000).out

    expected = {
        "no_text": r"^None",
        "empty_text": r"^Some.*\"\"",
        "some_text": r"^Some.*here",
        "no_list": r"^None",
        "empty_list": r"^Some",
        "good": r"^Ok.*9",
        "bad": r"^Err.*\"\"",
        "no_box": r"^None",
        "some_box": r"^Some\(0x[0-9a-f]+ -> 5\)",
        "no_word": r"^None",
        "less": r"^Some.*Less",
        "nested": r"^Some.*None",
        "unit": r"^\(\)",
        "pair": r"key.*7, 8",
        "boxed": r"3, 4",
        "raw": r"^Some\(0x8\)",
    }
    if "lldb" in debugger.name:
        expected["shared"] = '^"shared"$'
    assert unreadable(told, expected) == []


BORROWED = r"""
fn look(word: &Option<String>, number: &mut Result<i32, String>, many: &[u8]) -> usize {
    many.len() // @borrowed
}

fn main() {
    println!("{}", look(&Some("here".to_string()), &mut Ok(9), &[5, 6]));
}
"""


def test_a_reference_to_an_enum_shows_its_variant(dbg, native):
    p = native(BORROWED)
    dbg.data("start", p.name, "-b", p.at("borrowed"))

    told = dbg("locals").out

    assert unreadable(told, {"word": r'Some\("here"\)', "number": r"Ok\(9\)", "many": "5, 6"}) == []


# --- functions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "marker"),
    [("Point::shift", "method"), ("shift", "method"), ("first", "generic"), ("speak", "trait")],
)
def test_functions_are_broken_at_by_their_names(dbg, values, function, marker):
    dbg.data("break", function)

    report = dbg.data("continue")

    assert place(report) == values.at(marker)
    assert not re.search(r"::h[0-9a-f]{16}", frame_of(report)["function"])


def test_main_means_the_user_s_main(dbg, native):
    p = native(VALUES)

    report = dbg.data("start", p.name, "-b", "main")

    assert frame_of(report)["path"] == str(p.source)
    assert bare(frame_of(report)["function"]) == "main"


def test_a_closure_is_a_frame_of_the_user_s_own(dbg, values):
    dbg.data("break", values.at("closure"))

    report = dbg.data("continue")

    assert texts(report)["by"] == "5"
    [stack] = dbg.data("backtrace")["stacks"]
    assert functions(stack)[-1] == "main"
    assert not any(re.search(r"::h[0-9a-f]{16}", f["function"]) for f in stack["frames"])


# --- cargo --------------------------------------------------------------------------------------


def test_a_program_that_cargo_built_is_debugged(dbg, project):
    need("cargo", "apt-get install cargo")
    (project / "Cargo.toml").write_text(
        '[package]\nname = "two-words"\nversion = "0.1.0"\nedition = "2021"\n'
    )
    source = programs.write(
        "src/main.rs",
        "fn add(left: i32, right: i32) -> i32 {\n    left + right // @add\n}\n\n"
        'fn main() {\n    println!("{}", add(1, 2)); // @main\n}\n',
        project,
    )
    subprocess.run(
        ["cargo", "build", "--quiet", "--offline"],
        cwd=project,
        check=True,
        env={**dbg.env, "CARGO_TARGET_DIR": str(project / "target")},
        timeout=120,
    )

    entry = dbg.data("start", "target/debug/two-words", "--stop-on-entry")
    assert place(entry) == f"main.rs:{source.line('main')}"
    report = dbg.data("until", "src/main.rs:2")

    assert frame_of(report)["path"] == str(source.path)
    assert (texts(report)["left"], texts(report)["right"]) == ("1", "2")


INLINED = r"""
fn main() {
    let list = vec![("tea".to_string(), 3)];  // @first
    println!("{}", list.len());  // @second
}
"""


def test_where_the_library_is_inlined_the_user_s_own_line_is_shown(dbg, native):
    p = native(INLINED)

    assert place(dbg.data("start", p.name, "-b", "main")) == p.at("first")
    assert place(dbg.data("next")) == p.at("second")


PATHS = r"""
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

struct Point { x: i32, name: String }
struct Wrap((i32, Point));

fn main() {
    let pair = (1, "two");
    let rc = Rc::new(Point { x: 5, name: "rc".to_string() });
    let wrap = Wrap((7, Point { x: 9, name: "wrap".to_string() }));
    let many: Vec<i32> = (0..300).collect();
    let mut ages = HashMap::new();
    ages.insert("ann".to_string(), 42);
    let some = Some(5);
    let boxed = Some(Box::new(Point { x: 5, name: String::new() }));
    let shared = Arc::new(Mutex::new(vec![1, 2, 3]));
    println!("{} {} {} {}", pair.1, rc.x, wrap.0.0, some.is_some()); // @end
    println!("{} {} {} {}", many.len(), ages["ann"], rc.name, wrap.0.1.name);
    println!("{} {} {}", pair.0, wrap.0.1.x, shared.lock().unwrap().len());
    drop(boxed);
}
"""


def test_paths_are_written_as_rust_writes_them(dbg, native, debugger):
    p = native(PATHS)
    dbg.data("start", p.name, "-b", p.at("end"))

    def shown(expression: str) -> str:
        return str(dbg.data("print", expression)["value"]["text"])

    assert shown("pair.1").strip('"') == "two"
    assert shown("wrap.0.1.x") == "9"
    if debugger.name == "gdb-mi":
        expected = {
            "rc.x": "5",
            "many.len()": "300",
            "many[299]": "299",
            'ages["ann"]': "42",
            "some.is_some()": "true",
            "shared.lock().unwrap()[1]": "2",
            "some.unwrap()": "5",
            "boxed.unwrap().x": "5",
        }
        assert "-> Point {x: 5" in shown("boxed")
        assert {each: shown(each) for each in expected} == expected
        refused = dbg("print", "many.iter()")
        assert "iter() would have to run" in refused.out + refused.err


BEHIND = r"""
fn scan(v: &mut Vec<i32>, limit: &i32, raw: *const i32) -> i32 {
    let mut hits = 0;
    for x in v.iter() {
        hits += (x > limit) as i32; // @pass
    }
    v[1] = 50; // @write
    hits + unsafe { *raw }
}

fn main() {
    let mut v = vec![3, 5, 7];
    let raw = [100, 200];
    println!("{} {:?}", scan(&mut v, &4, raw.as_ptr()), v);
}
"""


def test_operators_and_indexes_look_behind_references_as_in_rust(dbg, native):
    p = native(BEHIND)
    dbg.data("break", p.at("write"))
    dbg.data("break", p.at("pass"), "--log", "pass {v[0]} {x}")
    report = dbg.data("start", p.name)
    assert re.findall(r"pass \d+ \d+", str(report)) == ["pass 3 3", "pass 3 5", "pass 3 7"]

    expected = {"v[2]": "7", "limit + 1": "5", "limit > 4": "false", "raw[1]": "200"}
    shown = {each: dbg.data("print", each)["value"]["text"] for each in expected}
    assert shown == expected
    refused = dbg("print", "v[9]")
    assert refused.code != 0
    assert "9" in refused.err

    dbg.data("set", "v[0]", "77")
    dbg.data("watch", "v[1]")
    report = dbg.data("continue")
    assert (report["stop"]["watch"]["old"], report["stop"]["watch"]["new"]) == ("5", "50")
    assert "102 [77, 50, 7]" in str(dbg.data("continue")["output"])


def test_a_condition_compares_what_a_reference_refers_to(dbg, native):
    p = native(BEHIND)

    dbg.data("break", p.at("pass"), "--if", "x > 6")
    dbg.data("start", p.name)

    assert dbg.data("print", "*x")["value"]["text"] == "7"


SHAPES = r"""
trait Shape { fn area(&self) -> i32; }
struct Square(i32);
struct Line(i32);
impl Shape for Square { fn area(&self) -> i32 { self.0 * self.0 } } // @square
impl Shape for Line { fn area(&self) -> i32 { self.0 - self.0 } } // @line
struct Pile<T> { items: Vec<T> }
impl<T: Clone> Pile<T> {
    fn add(&mut self, item: T) { self.items.push(item) } // @add
}

fn main() {
    let mut pile = Pile { items: vec![] };
    pile.add(1u8);
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(3)), Box::new(Line(4))];
    let total: i32 = shapes.iter().map(|shape| shape.area()).sum();
    println!("{total}");
}
"""


@pytest.mark.parametrize("mangling", [(), ("-C", "symbol-mangling-version=v0")])
def test_a_method_of_a_trait_is_broken_at_in_each_implementation(dbg, native, debugger, mangling):
    p = native(SHAPES, *mangling)

    stops = [dbg.data("start", p.name, "-b", "Shape::area"), dbg.data("continue")]

    assert [place(stop) for stop in stops] == [p.at("square"), p.at("line")]
    names = [re.sub(r"\w+::(?=[A-Z])", "", frame_of(stop)["function"]) for stop in stops]
    assert names == ["<Square as Shape>::area", "<Line as Shape>::area"]
    if debugger.name == "gdb-mi":
        assert re.search(r"shape = .*-> Line\(4\)", dbg("backtrace", "--locals").out)
    dbg.data("breakpoint", "remove", "--all")
    for name, marker in (("<Line as Shape>::area", "line"), ("Pile<u8>::add", "add")):
        assert place(dbg.data("start", p.name, "-b", name)) == p.at(marker), name
        dbg.data("stop")


def test_a_release_without_debug_information_stops_at_a_panic(dbg, native):
    p = native(
        'fn main() { let n = std::env::args().count(); println!("{}", [1, 2][n + 5]); }\n',
        *("-C", "opt-level=2", "-C", "debuginfo=0", "-C", "strip=debuginfo"),
    )

    report = dbg.data("start", p.name)

    assert report["state"] == "stopped"
    assert "the index is 6" in report["stop"]["exception"]["message"]
