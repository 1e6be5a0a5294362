"""Makes a Python report that it is not followed; its text is run by every interpreter, also by 2.7.

`unfollowed_children.py` reads the report. This file imports only what the interpreter has imported
itself, and never fails.
"""

import os
import sys


def report(secret, args):  # type: ignore[no-untyped-def]
    """Add the command line to a file next to *secret*, the file that contains the secret."""
    try:
        path = os.path.join(os.path.dirname(secret), "unfollowed")
        line = "\0".join(["%d.%d" % sys.version_info[:2]] + list(args))  # noqa: RUF005, UP031
        line = line.replace("\n", " ").replace("\r", " ") + "\n"
        data = line if sys.version_info[0] < 3 else line.encode("utf-8", "replace")
        # Only if the secret exists: a debugger that has detached has removed both.
        if os.path.exists(secret):
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, data)  # type: ignore[arg-type]
            finally:
                os.close(file)
    except Exception:
        pass


def of_code():  # type: ignore[no-untyped-def]
    """Return the arguments of a `python -c`, whose code was changed on the command line."""
    # Old Pythons have no arguments before the program runs.
    if hasattr(sys, "argv"):
        return [sys.executable or "python"] + sys.argv  # noqa: RUF005
    return command_line()  # type: ignore[no-untyped-call]


def command_line():  # type: ignore[no-untyped-def]
    """Return the arguments that this process was started with, as far as they are known."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            data = file.read()
        text = data if sys.version_info[0] < 3 else data.decode("utf-8", "replace")
        return text.rstrip("\0").split("\0")  # type: ignore[arg-type]
    except Exception:
        return [sys.executable or "python"]
