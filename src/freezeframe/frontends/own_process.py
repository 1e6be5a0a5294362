"""Commands that are a process of their own and a client of the daemon: `mcp`, `dap`, `show`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from freezeframe.errors import FreezeframeError
from freezeframe.render import PLAIN, render_error


def run_and_exit(
    run: Callable[[list[str]], int], argv: list[str], *, interrupted: int = 130
) -> NoReturn:
    """Call *run* and end the process with its status; *interrupted* is that after Ctrl-C."""
    try:
        status = run(argv)
    except FreezeframeError as error:
        sys.stderr.write(render_error(error, PLAIN))
        status = error.exit_status
    except KeyboardInterrupt:
        status = interrupted
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    sys.stderr.flush()
    # Do not wait for a thread that may still read standard input.
    os._exit(status)
