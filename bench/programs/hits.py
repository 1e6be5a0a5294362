"""A line that is executed a million times. Prints the processor time that it took."""

import time


def work(n):
    total = 0
    for i in range(n):
        total += i & 3  # @probed
    return total


began = time.process_time()
work(1_000_000)
print(time.process_time() - began)
