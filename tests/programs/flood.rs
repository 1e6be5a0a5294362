// Prints much: as many megabytes as the first argument says, in lines of 100 bytes.

use std::io::Write;

fn main() {
    let megabytes: f64 = std::env::args().nth(1).map_or(1.0, |word| word.parse().unwrap());
    let lines = (megabytes * 10_000.0) as u32;
    let line = "x".repeat(99);
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for _ in 0..lines {
        writeln!(out, "{line}").unwrap();
    }
    writeln!(out, "last line {lines}").unwrap(); // @end
}
