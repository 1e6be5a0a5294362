// Three workers; all of them live while the second one stands at its marker.

use std::collections::BTreeMap;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

type Results = Arc<Mutex<BTreeMap<u32, u32>>>;

fn work(number: u32, together: Arc<Barrier>, finish: Arc<Barrier>, results: Results) {
    let square = number * number;
    together.wait();
    if number == 2 {
        results.lock().unwrap().insert(number, square); // @worker
    }
    finish.wait();
    results.lock().unwrap().insert(number, square);
}

fn main() {
    let together = Arc::new(Barrier::new(4));
    let finish = Arc::new(Barrier::new(4));
    let results = Results::default();
    let mut workers = vec![];
    for number in 1..=3 {
        let shared = (together.clone(), finish.clone(), results.clone());
        let named = thread::Builder::new().name(format!("worker-{number}"));
        workers.push(named.spawn(move || work(number, shared.0, shared.1, shared.2)).unwrap());
    }
    together.wait();
    finish.wait(); // @main
    for worker in workers {
        worker.join().unwrap();
    }
    println!("{:?}", results.lock().unwrap()); // @joined
}
