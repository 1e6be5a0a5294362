"""Has a Python say that it is not followed; its text is run by every interpreter, also by 2.7.

`unfollowed.py` reads it. It imports only what the interpreter has imported itself, and never fails.
"""

import os
import sys


def tell(secret, words):  # type: ignore[no-untyped-def]
    """Add the command line to the file beside *secret*, the file that holds the secret."""
    try:
        path = os.path.join(os.path.dirname(secret), "unfollowed")
        line = "\0".join(["%d.%d" % sys.version_info[:2]] + list(words))  # noqa: RUF005, UP031
        line = line.replace("\n", " ").replace("\r", " ") + "\n"
        data = line if sys.version_info[0] < 3 else line.encode("utf-8", "replace")
        # Only beside the secret: a debugger that has left has taken both away.
        if os.path.exists(secret):
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, data)  # type: ignore[arg-type]
            finally:
                os.close(file)
    except Exception:
        pass


def of_code():  # type: ignore[no-untyped-def]
    """Return the words of a `python -c`, whose code was changed on the command line."""
    # Before the program there are no arguments in Pythons that are old.
    if hasattr(sys, "argv"):
        return [sys.executable or "python"] + sys.argv  # noqa: RUF005
    return command_line()  # type: ignore[no-untyped-call]


def command_line():  # type: ignore[no-untyped-def]
    """Return the words that this process was started with, as far as that is known."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            data = file.read()
        text = data if sys.version_info[0] < 3 else data.decode("utf-8", "replace")
        return text.rstrip("\0").split("\0")  # type: ignore[arg-type]
    except Exception:
        return [sys.executable or "python"]
