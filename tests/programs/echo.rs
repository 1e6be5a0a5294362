// Echoes its standard input line by line, and counts the lines.

use std::io::BufRead;

fn main() {
    let mut count = 0;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        count += 1;
        println!("heard {line}"); // @line
    }
    println!("lines {count}"); // @eof
}
