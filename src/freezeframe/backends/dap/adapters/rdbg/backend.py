"""A session with the debug gem."""

from __future__ import annotations

from freezeframe.backends.backend import Attach
from freezeframe.backends.dap.backend import DapBackend
from freezeframe.backends.dap.debuggee import Debuggee
from freezeframe.backends.dap.messages import ErrorResponse
from freezeframe.backends.dap.stop_queries import evaluate_text
from freezeframe.errors import DebuggerError

from .agents import AGENT, install_expression


class RdbgDebuggee(Debuggee):
    async def inject_when_stopped(self) -> None:
        """Load the agents into a program that was attached to."""
        if not isinstance(self.target, Attach):
            return
        # 1.9 does not stop the program when it attaches.
        await self.channel.request("pause", {"threadId": 1})
        # The gem's own code, which was waiting, still reads the request after the first.
        for expression in (install_expression(), f"({AGENT}.join)"):
            for thread in (await self.channel.request("threads")).get("threads") or ():
                if await self._inject_into_thread(expression, thread["id"]):
                    break
            else:
                raise DebuggerError(
                    "the program does not stop, so the debugger cannot attach to it."
                )

    async def _inject_into_thread(self, expression: str, thread: int) -> bool:
        """Evaluate in the innermost frame that can: a frame of a C function may not."""
        try:
            body = await self.channel.request("stackTrace", {"threadId": thread})
        except ErrorResponse:
            return False
        for frame in body.get("stackFrames") or ():
            if await evaluate_text(self.channel, expression, frame["id"]) == "true":
                return True
        return False


class RdbgBackend(DapBackend):
    debuggee_class = RdbgDebuggee
