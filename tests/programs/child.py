"""The child of spawns.py: doubles its argument."""

import sys

number = int(sys.argv[1])
double = number * 2  # @child
print("child", double)
sys.exit(number)
