"""One connection from the command line: a request, its answer in frames, the client's input."""

from __future__ import annotations

import asyncio
import logging

from freezeframe.daemon import ipc, peer_credentials
from freezeframe.daemon.handler import Handler
from freezeframe.errors import DaemonError, FreezeframeError, UsageError

logger = logging.getLogger(__name__)

MAX_INPUT_BYTES = 64 * 1024 * 1024
#: after several intervals without a frame, the client checks whether the daemon is stopped
KEEP_ALIVE_S = 1.0


class Reply:
    """Writes the answer to one client. Writing waits for a slow client, so buffers stay small."""

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
        """Return the client's whole standard input. Raises UsageError when it is too large.

        The input is read once; a second call returns the same bytes.
        """
        if self._input is None:
            self._input = asyncio.get_running_loop().create_future()
            self._writer.write(ipc.frame(ipc.REQUEST_INPUT))
        return await asyncio.shield(self._input)

    def redirected_input(self) -> str | None:
        """Return the file that the client's standard input was redirected from, if any."""
        connection = self._writer.get_extra_info("socket")
        return None if connection is None else peer_credentials.redirected_input(connection)

    async def keep_alive(self) -> None:
        """Send keep-alive frames until cancelled."""
        while True:
            await asyncio.sleep(KEEP_ALIVE_S)
            # A client that is behind still has frames to read.
            if not self._writer.is_closing() and not self._writer.transport.get_write_buffer_size():
                self._writer.write(ipc.frame(ipc.KEEP_ALIVE))

    async def _send(self, kind: bytes, text: str | bytes) -> None:
        data = ipc.text_bytes(text) if isinstance(text, str) else text
        for frame in ipc.output_frames(kind, data):
            await self._write(frame)

    async def _write(self, frame: bytes) -> None:
        if self._writer.is_closing():
            await asyncio.sleep(0)  # the hang-up is about to cancel this task
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
        """Have the client start another daemon and send its request there."""
        await self._write(ipc.frame(ipc.REPLACE))

    async def hang_up(self) -> None:
        """Return when the client has disconnected; collect its input until then."""
        pieces: list[bytes] = []
        total = 0
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(4), "big")
                if self._input is None:
                    raise ipc.Malformed("input that was not requested")
                piece = await self._reader.readexactly(size)
                total += size
                if self._input.done():
                    continue  # over the limit, which was reported
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


async def run_request(handler: Handler, request: ipc.ClientRequest, reply: Reply) -> None:
    """Run *request* until it completes or its client disconnects.

    When the task is cancelled because the daemon shuts down, the client gets an error.
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
        ended = DaemonError("the daemon ended before this request was done.", next="dbg status")
        await _send_error(reply, ended)
        await reply.exit(1)
    finally:
        alive.cancel()
        gone.cancel()
        await _stopped(work)


async def _outcome(work: asyncio.Task[int], reply: Reply) -> int:
    """Return the exit status of finished *work*, after sending its error if it failed."""
    try:
        return work.result()
    except FreezeframeError as error:
        await _send_error(reply, error)
        return error.exit_status
    except asyncio.CancelledError:
        await _send_error(reply, DaemonError("the request was cancelled.", next="dbg status"))
        return 1
    except Exception as error:
        logger.exception("a request ended in a bug")
        await _send_error(reply, internal(error))
        return 1


async def _stopped(work: asyncio.Task[int]) -> None:
    """Cancel *work* and wait until it has released its resources."""
    if work.done():
        return
    work.cancel()
    await asyncio.wait({work})
    error = None if work.cancelled() else work.exception()
    if error and not isinstance(error, FreezeframeError):
        logger.error("a cancelled request ended in a bug", exc_info=error)


async def _send_error(reply: Reply, error: FreezeframeError) -> None:
    await reply.err(f"{error}\n" + (f"  next: {error.next}\n" if error.next else ""))


def internal(error: BaseException) -> FreezeframeError:
    """Return the error to report for a bug in Freezeframe; the traceback is in the log."""
    return FreezeframeError(
        f"Freezeframe has a bug here ({type(error).__name__}); the log has its traceback.",
        code="internal",
        next="dbg logs",
    )
