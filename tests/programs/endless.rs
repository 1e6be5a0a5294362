// Never ends by itself, and writes a file when it has begun.

use std::time::Duration;

fn spin(path: &str) {
    let mut turns: u64 = 0;
    std::fs::write(path, "spinning").unwrap();
    loop {
        turns += 1; // @turn
        std::thread::sleep(Duration::from_millis(1));
        std::hint::black_box(turns);
    }
}

fn main() {
    let path = std::env::args().nth(1);
    spin(path.as_deref().unwrap_or("spinning.txt"));
}
