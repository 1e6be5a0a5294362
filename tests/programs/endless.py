"""Never ends by itself, and writes a file when it has begun."""

import pathlib
import sys
import time


def spin(path):
    turns = 0
    pathlib.Path(path).write_text("spinning")
    while True:
        turns += 1  # @turn
        time.sleep(0.001)


spin(sys.argv[1] if len(sys.argv) > 1 else "spinning.txt")
