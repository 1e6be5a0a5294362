// A recursion with a known depth: 10 frames of `down` at the bottom.

fn down(depth: u32) -> u32 {
    if depth == 0 {
        return 1; // @bottom
    }
    let below = down(depth - 1);
    below + 1 // @up
}

fn main() {
    println!("{}", down(9)); // @start
}
