"""The interface of the front end that the server passes requests to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from freezeframe.daemon.cli_connection import Reply
    from freezeframe.daemon.ipc import ClientRequest


class Handler(Protocol):
    """Executes requests. Each runs in its own task, concurrently with the others.

    A request whose client disconnects is cancelled: the handler sees CancelledError, and other
    requests are not affected. A FreezeframeError becomes an error answer; any other exception is
    a bug, logged with its traceback and answered as `internal`.
    """

    async def argv(self, request: ClientRequest, reply: Reply) -> int:
        """Execute a command line, answer through *reply*, and return the exit status."""

    async def call(self, request: dict[str, object]) -> dict[str, object]:
        """Execute a structured request and return its answer without `id`.

        The answer is `{"success": true, "result": …}` or `{"success": false, "error": {…}}`.
        """

    def busy(self) -> bool:
        """Return whether the daemon must keep running, above all for a live session."""

    async def close(self) -> None:
        """End all sessions. The server cancels the call when it takes too long."""
