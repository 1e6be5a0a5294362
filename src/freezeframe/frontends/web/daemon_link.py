"""Requests of the page to the daemon. A page that watches starts no daemon."""

from __future__ import annotations

import asyncio
import socket

from freezeframe.daemon import lifecycle
from freezeframe.errors import DaemonError
from freezeframe.frontends.daemon_client import DaemonClient

#: how often a daemon that has ended is looked for, in seconds
_LOOK_EVERY_S = 0.25


class DaemonLink(DaemonClient):
    """A client that only connects to a daemon that runs."""

    def _dial(self) -> socket.socket:
        with self._dialling:
            return lifecycle.connect_to_running(self._env)

    async def wait_for_daemon(self) -> None:
        """Return when a daemon can be connected to."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            try:
                (await asyncio.to_thread(self._dial)).close()
            except DaemonError:
                continue
            return

    async def wait_for_end(self) -> None:
        """Return when the daemon has ended; at once if there is none."""
        try:
            link = await asyncio.to_thread(self._dial)
        except DaemonError:
            return
        reader, writer = await lifecycle.streams_of(link, 1 << 16)
        try:
            await reader.read()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def is_there(self) -> bool:
        try:
            (await asyncio.to_thread(self._dial)).close()
        except DaemonError:
            return False
        return True
