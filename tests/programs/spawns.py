"""Starts a Python child twice, and a program that is no Python, and adds up their exit codes."""

import os
import subprocess
import sys

child = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child.py")


def run(number):
    done = subprocess.run([sys.executable, child, str(number)], capture_output=True, text=True)
    print("from child:", done.stdout.strip())
    return done.returncode  # @returned


codes = run(2) + run(3)  # @parent
codes += subprocess.run(["true"]).returncode
print("codes", codes)
sys.exit(codes)  # @end
