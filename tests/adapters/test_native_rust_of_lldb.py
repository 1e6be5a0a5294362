"""Braces, changes in containers, and expressions of Rust, as LLDB shows them."""

from __future__ import annotations

from harness.reports import printed, shown, texts

# What unwinds a panic has the line of a brace too. A loop's brace also ends the loop.
BRACES = r"""
use std::collections::{BTreeMap, HashMap};

struct Account {
    owner: String,
}

fn join(n: usize) -> String {
    let mut out = String::new();
    for i in 0..n {
        let part = format!("{i}");
        out.push_str(&part);
    } // @inner
    out
} // @joined

fn main() {
    let mut counts: HashMap<String, i32> = HashMap::from([("a".to_string(), 1)]);
    let mut deep: BTreeMap<u32, BTreeMap<u32, Vec<i32>>> = BTreeMap::new();
    deep.entry(1).or_default().insert(2, vec![3]);
    let mut accounts = vec![Account { owner: "ann".to_string() }];
    // Where `vec!` gets no memory it calls a function that never returns.
    let list = vec![1, 2, 3];
    let mut sum = 0;
    while sum < 2 {
        sum += list[0];
    }
    println!("{} {}", join(2), accounts.len()); // @before
    counts.insert("b".to_string(), 2);
    deep.get_mut(&1).unwrap().get_mut(&2).unwrap().push(4);
    accounts[0].owner.push('e');
    println!("{} {} {}", counts.len(), deep.len(), accounts[0].owner); // @changed
    counts.remove("b");
    println!("{}", counts.len()); // @removed
} // @last
"""


def test_a_brace_is_reached_and_entries_are_told_by_their_keys(dbg, native):
    p = native(BRACES)
    before = dbg.data("start", p.name, "-b", p.at("before"))
    assert (shown(before), texts(before)["sum"]) == (p.at("before"), "2")
    for place in ("inner", "joined", "changed", "removed", "last"):
        dbg.data("break", p.at(place))
    places = [shown(dbg.data("continue")) for _ in range(3)]
    changed, removed = dbg("continue").out, dbg("continue").out

    assert places == [p.at("inner"), p.at("inner"), p.at("joined")]
    assert '* counts["b"] = 2 (new)\n' in changed
    assert "* deep[1][2][1] = 4 (new)\n" in changed
    assert '* accounts[0].owner = "anne" (was "ann")\n' in changed
    assert "  deep = BTreeMap(1: BTreeMap(2: Vec(3, 4)))\n" in removed
    assert '* counts["b"] is gone (was 2)\n' in removed
    assert shown(dbg.data("continue")) == p.at("last")
    assert dbg.data("continue")["exit"]["code"] == 0


EXPRESSIONS = r"""
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

#[derive(Clone)]
struct Account {
    id: u32,
    owner: String,
}

#[derive(PartialEq)]
enum Level {
    Low,
    High,
}

fn visit(names: &[String]) -> usize {
    let mut sum = 0;
    for name in names {
        sum += name.len(); // @visit
    }
    sum
}

fn main() {
    let names = vec!["ann".to_string(), "bobby".to_string(), "cy".to_string()];
    let counts: HashMap<String, i32> = HashMap::from([("a".to_string(), 1), ("b".to_string(), 2)]);
    let deep: BTreeMap<u32, Vec<i32>> = BTreeMap::from([(7, vec![3, 4])]);
    let shared = Rc::new(RefCell::new(Account { id: 9, owner: "zed".to_string() }));
    let some: Option<Account> = Some(shared.borrow().clone());
    let level = if deep.len() == 1 { Level::High } else { Level::Low };
    let text = "hello";
    println!("{} {}", visit(&names), text); // @here
    println!("{} {} {}", counts.len(), some.is_some(), level == Level::Low);
}
"""

VALUES = {
    "names.len()": "3",
    "names[1]": '"bobby"',
    "names[1].len() * 2 + 1": "11",
    'counts["b"]': "2",
    "deep[&7][1]": "4",
    "shared.borrow().id": "9",
    "shared.id as f64 / 2.0": "4.5",
    "some.is_some() && !names.is_empty()": "true",
    "some.unwrap().owner": '"zed"',
    "level == Level::High": "true",
    'text.starts_with("he")': "true",
    'counts.contains_key("zz")': "false",
}
REFUSED = {
    "names[3]": "index 3 is out of range: the length is 3",
    'counts["zz"]': 'there is no entry "zz"',
    "text.is_some()": "neither an Option nor a Result",
    "names.pop()": "would have to run",
    'shared.id == "9"': "different types",
}


def test_expressions_of_rust_are_evaluated_and_none_is_guessed(dbg, native):
    p = native(EXPRESSIONS)
    dbg.data("start", p.name, "-b", p.at("here"))

    for expression, text in VALUES.items():
        assert dbg.data("print", expression)["value"]["text"] == text, expression
    for expression, reason in REFUSED.items():
        assert reason in dbg.error("print", expression)["message"], expression
    assert "sizeof" not in dbg.error("watch", "nowhere")["message"]


def test_conditions_and_messages_are_written_in_rust(dbg, native):
    p = native(EXPRESSIONS)
    dbg.data("break", p.at("visit"), "-c", 'name.len() > 2 && name != "ann"')
    report = dbg.data("start", p.name)
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("break", p.at("visit"), "--log", "{name.len()} of {names.len()}")

    assert (shown(report), texts(report)["sum"]) == (p.at("visit"), "3")
    assert printed(dbg.data("continue"), "log") == "2 of 3\n"
