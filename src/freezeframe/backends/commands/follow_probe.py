"""Run a command and end as it ends. Python programs below it are followed by the debugger."""

import os
import signal
import subprocess
import sys


def main() -> None:
    # What is typed at the terminal reaches the command as well; it decides what becomes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = subprocess.Popen(sys.argv[1:], restore_signals=True, preexec_fn=_defaults).wait()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def _defaults() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


main()
