// Three workers; all of them live while the second one stands at its marker.
type Shared = Int32Array;

const { Worker, isMainThread, workerData } = require('worker_threads');

const TOGETHER = 0, PASSED = 1, FINISH = 2;

function wait(shared: Shared, index: number, value: number): void {
  while (Atomics.load(shared, index) < value) {
    Atomics.wait(shared, 3, 0, 5);
  }
}

function work(number: number, shared: Shared): void {
  const square = number * number;
  Atomics.add(shared, TOGETHER, 1);
  wait(shared, TOGETHER, 4);
  if (number === 2) {
    Atomics.store(shared, 3 + number, square); // @worker
    Atomics.store(shared, PASSED, 1);
  }
  wait(shared, FINISH, 1);
  Atomics.store(shared, 3 + number, square);
}

if (isMainThread) {
  const shared = new Int32Array(new SharedArrayBuffer(32));
  const workers = [1, 2, 3].map(
    (number) => new Worker(__filename, { name: `worker-${number}`, workerData: { number, shared } }),
  );
  const timer = setInterval(() => {
    if (Atomics.load(shared, TOGETHER) === 3) Atomics.add(shared, TOGETHER, 1);
    if (Atomics.load(shared, PASSED) === 0) return;
    clearInterval(timer);
    Atomics.store(shared, FINISH, 1); // @main
  }, 5);
  Promise.all(workers.map((worker) => new Promise((done) => worker.on('exit', done)))).then(() => {
    console.log(shared.slice(4, 7).join(' ')); // @joined
  });
} else {
  work(workerData.number, workerData.shared);
}
