"""Send the requests that set breakpoints, also to a debugger that keeps an old condition."""

from __future__ import annotations

from typing import Any

from .adapter_channel import AdapterChannel

_LOCATION = ("line", "name", "instructionReference")


class BreakpointSetter:
    """Knows what each request set last."""

    def __init__(self, channel: AdapterChannel) -> None:
        self._channel = channel
        self._sent: dict[tuple[str, str], list[dict[str, Any]]] = {}

    async def request(self, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the body of the answer.

        Breakpoints that change are removed first, where the adapter needs it.
        """
        if self._channel.adapter.breakpoints.keeps_conditions:
            key = command, str(arguments.get("source", {}).get("path"))
            before, after = self._sent.get(key, []), arguments["breakpoints"]
            self._sent[key] = after
            known = {_location(each): each for each in before}
            same = [each for each in after if known.get(_location(each), each) == each]
            if len(same) < len(after):
                await self._channel.request(command, {**arguments, "breakpoints": same})
        return await self._channel.request(command, arguments)


def _location(entry: dict[str, Any]) -> tuple[object, ...]:
    return tuple(entry.get(name) for name in _LOCATION)
