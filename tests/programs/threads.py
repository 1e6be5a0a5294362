"""Three workers; all of them live while the second one stands at its marker."""

import threading

together = threading.Barrier(4)
passed = threading.Event()
finish = threading.Event()
results = {}


def work(number):
    square = number * number
    together.wait()
    if number == 2:
        results[number] = square  # @worker
        passed.set()
    finish.wait(60)
    results[number] = square


workers = [threading.Thread(target=work, args=(n,), name=f"worker-{n}") for n in (1, 2, 3)]
for worker in workers:
    worker.start()
together.wait()
passed.wait(60)
finish.set()  # @main
for worker in workers:
    worker.join()
print(sorted(results.items()))  # @joined
