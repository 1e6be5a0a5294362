// Dies of an error that nobody catches.

fn divide(left: i32, right: i32) -> i32 {
    left / right // @uncaught
}

fn average(numbers: &[i32]) -> i32 {
    let total = numbers.iter().sum();
    divide(total, numbers.len() as i32) // @caller
}

fn main() {
    println!("averages");
    println!("{}", average(&[1, 2, 3]));
    println!("{}", average(&[]));
}
