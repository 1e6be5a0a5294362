"""Echoes its standard input line by line, and counts the lines."""

import sys

print("ready", flush=True)
count = 0
for line in sys.stdin:
    count += 1
    print("heard", line.strip(), flush=True)  # @line
print("lines", count)  # @eof
