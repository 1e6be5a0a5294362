"""`dbg show`: a separate process at a terminal, a client of the daemon that only looks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

from rich.console import Console

from freezeframe.errors import FreezeframeError, UsageError
from freezeframe.frontends import cli_ops, help
from freezeframe.frontends.daemon_client import DaemonClient
from freezeframe.frontends.own_process import run_and_exit
from freezeframe.frontends.parser import parse

from .screen import screen
from .view import SessionView, note_events, refresh

assert cli_ops  # declares operations

#: the alternate screen without a cursor, and back
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_HOME, _END_OF_LINE, _BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_QUIT = b"qQ\x03\x04\x1b"


def main(argv: list[str]) -> NoReturn:
    """Show until a key ends it, and end the process."""
    run_and_exit(run, argv, interrupted=0)


def run(argv: list[str]) -> int:
    """Return the exit status when the view was left. Raises FreezeframeError."""
    parsed = parse(argv)
    if parsed.globals.help or parsed.op is None:
        sys.stdout.write(help.page(["show"]))
        return 0
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("`show` needs a terminal.", next="dbg context")
    session = parsed.kwargs.get("name") or parsed.globals.session
    with _terminal():
        asyncio.run(_show(session or os.environ.get("DBG_SESSION") or None))
    return 0


@contextlib.contextmanager
def _terminal() -> Iterator[None]:
    """Read keys one by one on a screen of their own; restore the terminal afterwards."""
    import termios
    import tty

    before = termios.tcgetattr(0)
    try:
        tty.setcbreak(0)
        sys.stdout.write(_ENTER)
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        sys.stdout.write(_LEAVE)
        sys.stdout.flush()


async def _show(session: str | None) -> None:
    loop = asyncio.get_running_loop()
    left = asyncio.Event()

    def key() -> None:
        pressed = os.read(0, 64)
        if not pressed or any(byte in _QUIT for byte in pressed):
            left.set()

    loop.add_reader(0, key)
    daemon = DaemonClient(os.getcwd(), dict(os.environ), budget=None)
    following = asyncio.create_task(_follow(daemon, session))
    leaving = asyncio.create_task(left.wait())
    await asyncio.wait({following, leaving}, return_when=asyncio.FIRST_COMPLETED)
    following.cancel()
    leaving.cancel()
    loop.remove_reader(0)
    daemon.close()


async def _follow(daemon: DaemonClient, session: str | None) -> None:
    """Draw the view at each event of the workspace."""
    view, cursor, is_first = SessionView(session), 0, True

    async def call(command: str, args: dict[str, Any]) -> dict[str, Any]:
        request = {"command": command, "args": args, "peek": True, "notes": False, "text": False}
        name = None if command in ("sessions", "events") else view.session
        answer = await daemon.call({**request, "session": name})
        result: dict[str, Any] = answer["result"]
        return result

    while True:
        try:
            view.problem = None
            await refresh(view, call, session)
            _draw(view, daemon.cwd)
            answer = await call("events", {"since": cursor, "wait": not is_first})
            cursor, is_first = answer.get("end", 0), False
            note_events(view, answer.get("events", []))
        except FreezeframeError as error:
            view.problem = str(error)
            _draw(view, daemon.cwd)
            await daemon.reconnected.wait()
            cursor, is_first = 0, True


def _draw(view: SessionView, cwd: str) -> None:
    width, height = shutil.get_terminal_size()
    console = Console(
        force_terminal=True, width=width, height=height, highlight=False, soft_wrap=True
    )
    with console.capture() as captured:
        console.print(screen(view, width, height, cwd), end="")
    text = captured.get().replace("\n", f"{_END_OF_LINE}\r\n")
    sys.stdout.write(f"{_HOME}{text}{_END_OF_LINE}{_BELOW}")
    sys.stdout.flush()
