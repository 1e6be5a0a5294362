"""Three workers that wait for each other, so that all of them live when one stops."""

import threading

together = threading.Barrier(4)
finish = threading.Event()
results = {}


def work(number):
    square = number * number
    together.wait()
    if number == 2:
        results[number] = square  # @worker
    finish.wait(20)
    results[number] = square


workers = [threading.Thread(target=work, args=(n,), name=f"worker-{n}") for n in (1, 2, 3)]
for worker in workers:
    worker.start()
together.wait()
finish.set()  # @main
for worker in workers:
    worker.join()
print(sorted(results.items()))  # @joined
