"""Prints much: as many megabytes as the first argument says, in lines of 100 bytes."""

import sys

megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 1
line = "x" * 99 + "\n"
lines = int(megabytes * 10_000)
block = line * 1000
for _ in range(lines // 1000):
    sys.stdout.write(block)
print("last line", lines)  # @end
