"""The process that serves the live page of one workspace. The daemon starts it.

It prints its link and serves as long as a page is open, also while there is no daemon: the page
finds the next one. Without a page it ends with the daemon, or after IDLE_S.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from typing import Any, NoReturn

from .access import HOST, Access
from .daemon_link import DaemonLink
from .http import MAX_HEAD_BYTES
from .server import PageServer

#: without a page, in seconds
IDLE_S = 600.0
#: without a page and without a daemon: a page that is loaded anew is gone for a moment
RELOAD_S = 2.0


def main() -> NoReturn:
    """Serve the workspace that the first line of standard input names, then end the process."""
    facts: dict[str, Any] = json.loads(sys.stdin.readline())
    try:
        asyncio.run(_serve(facts))
    except KeyboardInterrupt:
        pass
    os._exit(0)


async def _serve(facts: dict[str, Any]) -> None:
    listener = socket.create_server((HOST, 0))
    access = Access(listener.getsockname()[1])
    daemon = DaemonLink(facts["cwd"], dict(os.environ), limit_s=facts["limit_s"], budget=None)
    server = PageServer(daemon, access)
    async with await asyncio.start_server(server.connected, sock=listener, limit=MAX_HEAD_BYTES):
        sys.stdout.write(json.dumps({"link": access.link}) + "\n")
        sys.stdout.flush()
        await _until_unused(server, daemon)
        await server.close()
    daemon.close()


async def _until_unused(server: PageServer, daemon: DaemonLink) -> None:
    """Return when no page is open and none is to be expected."""
    while True:
        ended = asyncio.ensure_future(daemon.wait_for_end())
        opened = False
        while not ended.done():
            changed = asyncio.ensure_future(server.changed.wait(None if server.streams else IDLE_S))
            await asyncio.wait({changed, ended}, return_when=asyncio.FIRST_COMPLETED)
            if changed.done() and not changed.result() and not server.streams:
                return
            changed.cancel()
            opened = opened or server.streams > 0
        while not await daemon.is_there():
            # A page looks for the daemon itself; what is to be noticed here is that it was closed.
            found_s = RELOAD_S if opened or server.streams else 0.0
            if not await server.changed.wait(found_s) and not server.streams:
                return
