"""Forks; the child ends with 5, and the parent with what it heard of it."""

import os
import sys

pid = os.fork()
if pid == 0:
    word = "child"
    print(word, flush=True)  # @child
    os._exit(5)
_, status = os.waitpid(pid, 0)
code = os.waitstatus_to_exitcode(status)
print("parent heard", code)  # @parent
sys.exit(code)
