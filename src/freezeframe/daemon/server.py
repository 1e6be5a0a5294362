"""The daemon's server: accept the owner, pass requests to the handler, shut down when idle.

The server knows no operations. It admits the owner only, distinguishes the command line from JSON
clients by the first byte, and shuts down in order: it removes the socket first, so that the next
command starts a new daemon, which waits for `daemon.lock` until this one has exited.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable

from freezeframe import __version__
from freezeframe.daemon import ipc
from freezeframe.daemon.cli_connection import Reply, run_request
from freezeframe.daemon.handler import Handler
from freezeframe.daemon.json_connection import MAX_LINE_BYTES, JsonConnection
from freezeframe.daemon.listener import DaemonListener

__all__ = ["Handler", "Reply", "Server"]

logger = logging.getLogger(__name__)

#: for the handler to end all sessions
CLOSE_S = 5.0
#: for answers that are being sent when the daemon shuts down
LAST_ANSWERS_S = 1.0


class Server:
    """Serves one listener until `shut_down` is called or the idle timeout ends."""

    def __init__(self, handler: Handler, listener: DaemonListener, idle_timeout_s: float) -> None:
        self._handler = handler
        self._listener = listener
        self._idle_timeout_s = idle_timeout_s
        self._connections: set[asyncio.Task[None]] = set()
        self._commands: set[asyncio.Task[None]] = set()
        self._shutting_down = asyncio.Event()
        self._active = time.monotonic()

    def shut_down(self) -> None:
        """Start the shutdown; pending answers are still sent."""
        self._shutting_down.set()

    def rebind(self) -> None:
        """Create the listener's address again if somebody removed it."""
        if not self._shutting_down.is_set():
            opening = asyncio.create_task(self._listener.open_again())
            opening.add_done_callback(lambda task: task.result())

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve requests until shutdown, then shut down in order.

        Calls *ready* when requests are being served. Returns when all sessions are closed.
        """
        await self._listener.open(self._connected, MAX_LINE_BYTES)
        idle = asyncio.create_task(self._shut_down_when_idle())
        ready()
        await self._shutting_down.wait()
        idle.cancel()
        await self._close()

    # --- connections ---

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            if not self._listener.admits(writer):
                logger.warning("a connection of another user was refused")
                return
            first = await reader.readexactly(1)
            if first == b"{":
                await JsonConnection(self._handler, reader, writer).serve(first)
            else:
                await self._command(first, reader, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # disconnected before it sent a request
        except ipc.Malformed as error:
            logger.warning("a connection was closed: %s", error)
        except asyncio.CancelledError:
            pass  # the daemon shuts down; nothing awaits this task's result
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
        # A client that gave up while this daemon was stopped was told that nothing was done.
        await asyncio.sleep(0)
        if reader.at_eof():
            return
        reply = Reply(reader, writer)
        request = ipc.decode_request(body) if protocol == ipc.PROTOCOL else None
        if self._shutting_down.is_set():
            await reply.replace()
            return
        if request is None or request.version != __version__:
            if len(self._connections) == 1 and not self._handler.busy():
                logger.info("a client of another version replaces this daemon")
                await reply.replace()
                self.shut_down()
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
        command = asyncio.create_task(run_request(self._handler, request, reply))
        self._commands.add(command)
        command.add_done_callback(self._commands.discard)
        await command

    # --- shutdown ---

    async def _shut_down_when_idle(self) -> None:
        """Shut down after *idle_timeout_s* without a session and without a connection."""
        # Nothing notifies the server when a session ends, so it polls four times per timeout.
        while True:
            await asyncio.sleep(self._idle_timeout_s / 4)
            now = time.monotonic()
            if self._connections or self._handler.busy():
                self._active = now
            elif now - self._active >= self._idle_timeout_s:
                logger.info("idle for %g s, leaving", now - self._active)
                self.shut_down()
                return

    async def _close(self) -> None:
        await self._listener.close()
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
