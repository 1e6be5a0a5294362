"""What the server needs from the front end that it carries requests to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from freezeframe.daemon.command import Reply
    from freezeframe.daemon.ipc import ClientRequest


class Handler(Protocol):
    """Carries out requests. Each runs in a task of its own, beside all others.

    A request whose client hangs up is cancelled: the handler sees CancelledError, and nothing
    else is touched. A FreezeframeError becomes an error answer; any other exception is a bug,
    logged with its traceback and answered as `internal`.
    """

    async def argv(self, request: ClientRequest, reply: Reply) -> int:
        """Carry out a command line, answer through *reply*, and return the exit status."""

    async def call(self, request: dict[str, object]) -> dict[str, object]:
        """Carry out a structured request and return its answer without `id`.

        That is `{"success": true, "result": …}` or `{"success": false, "error": {…}}`.
        """

    def busy(self) -> bool:
        """Is there something that the daemon must stay for, a live session above all?"""

    async def close(self) -> None:
        """End all sessions. Cut off when it takes too long."""
