"""Run a command and exit as it exits. The debugger follows Python programs below it."""

import os
import signal
import subprocess
import sys


def main() -> None:
    # Control-C at the terminal reaches the command as well, which decides how to handle it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = subprocess.Popen(sys.argv[1:], restore_signals=True, preexec_fn=_defaults).wait()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def _defaults() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


main()
