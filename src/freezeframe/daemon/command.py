"""One connection of the command line: a request, its answer in frames, the client's input."""

from __future__ import annotations

import asyncio
import logging

from freezeframe.daemon import ipc
from freezeframe.daemon.handler import Handler
from freezeframe.errors import DaemonError, FreezeframeError, UsageError

logger = logging.getLogger(__name__)

MAX_INPUT_BYTES = 64 * 1024 * 1024
#: a client that hears nothing for several of these asks whether we are stopped
KEEP_ALIVE_S = 1.0


class Reply:
    """The way back to a client. Writing waits for a slow one, so nothing piles up."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._input: asyncio.Future[bytes] | None = None

    async def out(self, text: str | bytes) -> None:
        """Write to the client's standard output. Blocks while the client is behind."""
        await self._send(ipc.OUT, text)

    async def err(self, text: str | bytes) -> None:
        """Write to the client's error output. Blocks while the client is behind."""
        await self._send(ipc.ERR, text)

    async def read_stdin(self) -> bytes:
        """Return the client's standard input to its end. Raises UsageError when it is too big.

        It is read once; a second call returns the same bytes.
        """
        if self._input is None:
            self._input = asyncio.get_running_loop().create_future()
            self._writer.write(ipc.frame(ipc.ASK_INPUT))
        return await asyncio.shield(self._input)

    async def keep_alive(self) -> None:
        """Let the client know that its request is at work, until cancelled."""
        while True:
            await asyncio.sleep(KEEP_ALIVE_S)
            # A client that is behind has enough to read; nothing piles up for it.
            if not self._writer.is_closing() and not self._writer.transport.get_write_buffer_size():
                self._writer.write(ipc.frame(ipc.KEEP_ALIVE))

    async def _send(self, kind: bytes, text: str | bytes) -> None:
        data = ipc.text_bytes(text) if isinstance(text, str) else text
        for frame in ipc.output_frames(kind, data):
            await self._write(frame)

    async def _write(self, frame: bytes) -> None:
        if self._writer.is_closing():
            await asyncio.sleep(0)  # the hang-up is on its way to our task as a cancellation
            return
        self._writer.write(frame)
        try:
            await self._writer.drain()
        except ConnectionError:
            await asyncio.sleep(0)

    async def exit(self, status: int) -> None:
        """End the answer."""
        await self._write(ipc.frame(ipc.EXIT, bytes([status & 0xFF])))

    async def replace(self) -> None:
        """Have the client start another daemon and ask that one."""
        await self._write(ipc.frame(ipc.REPLACE))

    async def hang_up(self) -> None:
        """Return when the client is gone; take in its input meanwhile."""
        pieces: list[bytes] = []
        total = 0
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(4), "big")
                if self._input is None:
                    raise ipc.Malformed("input that nobody asked for")
                piece = await self._reader.readexactly(size)
                total += size
                if self._input.done():
                    continue  # too much already, and said so
                if not size:
                    self._input.set_result(b"".join(pieces))
                elif total > MAX_INPUT_BYTES:
                    pieces.clear()
                    limit_mb = MAX_INPUT_BYTES >> 20
                    self._input.set_exception(
                        UsageError(f"standard input is larger than {limit_mb} MB.")
                    )
                else:
                    pieces.append(piece)
        except (asyncio.IncompleteReadError, ConnectionError, ipc.Malformed):
            return


async def carry_out(handler: Handler, request: ipc.ClientRequest, reply: Reply) -> None:
    """Run *request* to its end, or until its client is gone.

    Cancelled from outside (the daemon leaves), the client is told so.
    """
    work = asyncio.create_task(handler.argv(request, reply))
    gone = asyncio.create_task(reply.hang_up())
    alive = asyncio.create_task(reply.keep_alive())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if gone.done() and not work.done():
            return
        status = await _outcome(work, reply)
        await reply.exit(status)
    except asyncio.CancelledError:
        await _stopped(work)
        await _tell(reply, DaemonError("the daemon left before this was done.", next="dbg status"))
        await reply.exit(1)
    finally:
        alive.cancel()
        gone.cancel()
        await _stopped(work)


async def _outcome(work: asyncio.Task[int], reply: Reply) -> int:
    """Return the exit status of finished *work*, its error told."""
    try:
        return work.result()
    except FreezeframeError as error:
        await _tell(reply, error)
        return error.exit_status
    except asyncio.CancelledError:
        await _tell(reply, DaemonError("the request was cancelled.", next="dbg status"))
        return 1
    except Exception as error:
        logger.exception("a request ended in a bug")
        await _tell(reply, internal(error))
        return 1


async def _stopped(work: asyncio.Task[int]) -> None:
    """Cancel *work* and wait until it has let go of what it held."""
    if work.done():
        return
    work.cancel()
    await asyncio.wait({work})
    error = None if work.cancelled() else work.exception()
    if error and not isinstance(error, FreezeframeError):
        logger.error("a cancelled request ended in a bug", exc_info=error)


async def _tell(reply: Reply, error: FreezeframeError) -> None:
    await reply.err(f"{error}\n" + (f"  next: {error.next}\n" if error.next else ""))


def internal(error: BaseException) -> FreezeframeError:
    """Return what is told of a bug of ours; the traceback is in the log."""
    return FreezeframeError(
        f"Freezeframe has a bug here ({type(error).__name__}); the log has its traceback.",
        code="internal",
        next="dbg logs",
    )
