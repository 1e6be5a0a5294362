"""Ends by sys.exit, which is no failure to stop at. The first argument is the code."""

import sys

print("leaving")
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 7)  # @exit
