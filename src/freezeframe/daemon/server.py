"""The daemon's door: accepts the owner, hands each request to the handler, leaves when idle.

The server knows nothing of operations. It decides who may come in, tells commands from programs
by their first byte, and ends in order: the socket disappears first, so that the next command
starts a new daemon, which waits for `daemon.lock` until this one is gone.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable

from freezeframe import __version__
from freezeframe.daemon import ipc
from freezeframe.daemon.command import Reply, carry_out
from freezeframe.daemon.door import Door
from freezeframe.daemon.handler import Handler
from freezeframe.daemon.lines import MAX_LINE_BYTES, LineConnection

__all__ = ["Handler", "Reply", "Server"]

logger = logging.getLogger(__name__)

#: for the handler to end all sessions
CLOSE_S = 5.0
#: for answers that are on their way when the daemon leaves
LAST_ANSWERS_S = 1.0


class Server:
    """Serves one door until it is told, or has reason, to leave."""

    def __init__(self, handler: Handler, door: Door, idle_timeout_s: float) -> None:
        self._handler = handler
        self._door = door
        self._idle_timeout_s = idle_timeout_s
        self._connections: set[asyncio.Task[None]] = set()
        self._commands: set[asyncio.Task[None]] = set()
        self._leaving = asyncio.Event()
        self._active = time.monotonic()

    def leave(self) -> None:
        """Stop serving soon: requests that are being answered are answered first."""
        self._leaving.set()

    def open_again(self) -> None:
        """Make the address anew if someone took it away."""
        if not self._leaving.is_set():
            opening = asyncio.create_task(self._door.open_again())
            opening.add_done_callback(lambda task: task.result())

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until the daemon has to leave, and leave in order.

        Calls *ready* when requests are being served. Returns when all sessions are closed.
        """
        await self._door.open(self._connected, MAX_LINE_BYTES)
        idle = asyncio.create_task(self._leave_when_idle())
        ready()
        await self._leaving.wait()
        idle.cancel()
        await self._wind_down()

    # --- connections ---

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if not self._door.admits(writer):
                logger.warning("a connection of another user was refused")
                return
            first = await reader.readexactly(1)
            if first == b"{":
                await LineConnection(self._handler, reader, writer).serve(first)
            else:
                await self._command(first, reader, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # gone before it had asked
        except ipc.Malformed as error:
            logger.warning("a connection was closed: %s", error)
        except asyncio.CancelledError:
            pass  # the daemon leaves; nobody waits for this task's outcome
        except Exception:
            logger.exception("a connection ended in a bug")
        finally:
            self._connections.discard(task)
            self._active = time.monotonic()
            writer.close()

    async def _command(
        self, first: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        head = first + await reader.readexactly(ipc.HEAD_BYTES - 1)
        protocol, length = ipc.decode_head(head)
        body = await reader.readexactly(length)
        reply = Reply(reader, writer)
        request = ipc.decode_request(body) if protocol == ipc.PROTOCOL else None
        if self._leaving.is_set():
            await reply.replace()
            return
        if request is None or request.version != __version__:
            if len(self._connections) == 1 and not self._handler.busy():
                logger.info("a client of another version replaces this daemon")
                await reply.replace()
                self.leave()
                return
            if request is None:
                await reply.err(
                    f"daemon: the daemon ({__version__}, pid {os.getpid()}) has live sessions and "
                    "does not understand this version of dbg; ending it ends them.\n"
                    f"  next: kill {os.getpid()}\n"
                )
                await reply.exit(1)
                return
            await reply.err(
                f"note: the daemon is version {__version__} and has live sessions, this dbg is "
                f"{request.version}; `dbg daemon stop` ends them and makes room for the new one.\n"
            )
        command = asyncio.create_task(carry_out(self._handler, request, reply))
        self._commands.add(command)
        command.add_done_callback(self._commands.discard)
        await command

    # --- the end ---

    async def _leave_when_idle(self) -> None:
        """Leave after *idle_timeout_s* without a session and without a connection."""
        # Sessions end without telling the server, so it looks four times in that span.
        while True:
            await asyncio.sleep(self._idle_timeout_s / 4)
            now = time.monotonic()
            if self._connections or self._handler.busy():
                self._active = now
            elif now - self._active >= self._idle_timeout_s:
                logger.info("idle for %g s, leaving", now - self._active)
                self.leave()
                return

    async def _wind_down(self) -> None:
        await self._door.close()
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._handler.close()
        except TimeoutError:
            logger.warning("sessions were not closed within %g s", CLOSE_S)
        except Exception:
            logger.exception("closing the sessions ended in a bug")
        for tasks in (self._commands, self._connections):
            if tasks:
                await asyncio.wait(tasks, timeout=LAST_ANSWERS_S)
            for task in tasks:
                task.cancel()
        if self._connections:
            await asyncio.wait(self._connections, timeout=LAST_ANSWERS_S)
