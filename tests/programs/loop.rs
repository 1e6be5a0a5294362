// Adds up an order: a loop with locals, nested values and a call. Prints, and ends with code 3.

#![allow(dead_code, unused_variables)]

use std::process::ExitCode;

struct Item {
    name: String,
    price: i32,
    count: i32,
    done: bool,
}

fn item(name: &str, price: i32, count: i32) -> Item {
    Item { name: name.to_string(), price, count, done: false }
}

fn line_amount(price: i32, count: i32) -> i32 {
    let amount = price * count; // @callee
    // rustc 1.95 makes no code for a line that is only a name.
    amount + 0 // @return
}

fn total_of(items: &mut [Item]) -> i32 {
    let mut total = 0; // @first
    for (number, item) in items.iter_mut().enumerate() {
        let amount = line_amount(item.price, item.count); // @call
        total += amount; // @loop
        item.done = true; // @done
    }
    total // @last
}

fn main() -> ExitCode {
    let nothing: Option<&str> = None;
    let empty: Vec<i32> = vec![];
    let mut order = vec![item("pen", 2, 3), item("ink", 5, 1), item("pad", 4, 2)];
    println!("adding"); // @print
    let total = total_of(&mut order); // @main
    println!("total {total}");
    eprintln!("done"); // @after
    ExitCode::from(if total == 19 { 3 } else { 4 }) // @end
}
