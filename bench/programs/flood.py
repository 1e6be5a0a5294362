"""Writes megabytes to standard output, and how long that took to a file."""

import sys
import time

path, megabytes = sys.argv[1], int(sys.argv[2])
line = "x" * 79 + "\n"
block = line * (65536 // len(line))
count = megabytes * 1_000_000 // len(block)
begin = time.perf_counter()
for _ in range(count):
    sys.stdout.write(block)
sys.stdout.flush()
took_s = time.perf_counter() - begin
with open(path, "w") as file:
    file.write(f"{count * len(block) / 1e6 / took_s}")
