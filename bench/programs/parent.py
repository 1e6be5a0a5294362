"""Runs itself once more as a child process and waits for that."""

import subprocess
import sys

if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"], check=True)
