"""The live page of a workspace: `dbg web`."""

from __future__ import annotations

import asyncio
import builtins
import json
import os
import sys
from typing import Annotated

from freezeframe.backends.transport.process import PIPE, Process
from freezeframe.errors import DaemonError, UserError
from freezeframe.model.answers import LivePage
from freezeframe.paths import scratch

from ._context import Context
from ._registry import Arg, Effect, Needs, op

#: for the process to serve
_START_S = 20.0
#: programs that show a page, by how they are called where there is a desktop
_OPENERS = ("xdg-open", "open", "wslview")


class _Server:
    """The process that serves the page."""

    def __init__(self, process: Process, link: str) -> None:
        self._process, self.link = process, link

    @property
    def running(self) -> bool:
        return self._process.returncode is None


@op(
    "web",
    group="admin",
    needs=Needs.WORKSPACE,
    control=True,
    effect=Effect.READS,
    example="web",
    examples=("web --open",),
)
async def web(
    ctx: Context,
    *,
    open: Annotated[bool, Arg("open it in the browser of this machine", short="-o")] = False,
) -> LivePage:
    """Serve a page where a person watches the sessions of this workspace and can take them over.

    The page shows stops, source, variables, output and the commands of the agent as they come. It
    is served on this machine only, to this user only; the link contains a token.
    """
    workspace = ctx.workspace
    if workspace.page is None or not workspace.page.running:
        workspace.page = await _started(ctx)
    link = workspace.page.link
    if open:
        await _open(link, dict(ctx.caller.env))
    return LivePage(link, workspace.root, opened=open)


async def _started(ctx: Context) -> _Server:
    env, root = dict(ctx.caller.env), ctx.workspace.root
    main = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__main__.py")
    if "FREEZEFRAME_HOME" in os.environ:  # of this daemon: the caller's may be relative
        env["FREEZEFRAME_HOME"] = os.environ["FREEZEFRAME_HOME"]
    process = Process.spawn(
        [sys.executable, "-P", main, "serve-page"],
        cwd="/",
        env=env,
        stdin=PIPE,
        stdout=PIPE,
        stderr=2,  # the log
        die_with_parent=False,
    )
    ctx.daemon.release(process.pid)  # a page that is open finds the next daemon again
    with os.fdopen(process.take_stdin(), "wb") as pipe:
        pipe.write(json.dumps({"cwd": root, "limit_s": 3600.0}).encode() + b"\n")
    with os.fdopen(process.take_stdout(), "rb") as pipe:
        reading = asyncio.to_thread(pipe.readline)
        try:
            line = await asyncio.wait_for(reading, _START_S)
        except TimeoutError:
            line = b""
    if not line:
        await process.kill_tree()
        raise DaemonError("the page cannot be served.", next="dbg logs")
    return _Server(process, json.loads(line)["link"])


async def _open(link: str, env: dict[str, str]) -> None:
    """Open a private file that leads to the page: command lines are visible to all users."""
    import shutil

    program = next(
        filter(None, (shutil.which(each, path=env.get("PATH")) for each in _OPENERS)), ""
    )
    if not program:
        raise UserError("there is no program that opens a browser.", next="dbg web")
    path = os.path.join(scratch(), "page.html")
    with builtins.open(path, "x", encoding="utf-8") as file:
        file.write(
            '<!doctype html><meta charset="utf-8">'
            f'<meta http-equiv="refresh" content="0;url={link}">'
        )
    opening = Process.spawn([program, path], env=env)
    await opening.wait(_START_S)
