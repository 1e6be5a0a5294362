"""Tools that the protocol's conformance suite calls: `dbg mcp --conformance`.

A server's own tools cannot show the suite an error, progress or log messages at a known moment.
These take the same ways as the real ones: error results, progress reports, log messages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types

from freezeframe.errors import UserError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    RequestContext = ServerRequestContext[Any, Any]
    #: sends log messages of the level `info`
    Log = Callable[[RequestContext, str, object], Awaitable[None]]

#: tool → its description
TOOLS = {
    "test_simple_text": "Answer with a text.",
    "test_error_handling": "Fail.",
    "test_tool_with_progress": "Report progress three times.",
    "test_tool_with_logging": "Send three log messages.",
}


def declarations() -> list[dict[str, Any]]:
    """Return the entries of the tools in `tools/list`."""
    schema = {"type": "object", "properties": {}}
    return [
        {"name": name, "description": text, "inputSchema": schema} for name, text in TOOLS.items()
    ]


async def call(ctx: RequestContext, name: str, log: Log) -> types.CallToolResult:
    """Run one of TOOLS. Raises UserError, as the tool that fails does."""
    if name == "test_error_handling":
        raise UserError("this tool fails on purpose.", code="test", next="dbg status")
    if name == "test_tool_with_progress":
        for done in (0, 50, 100):
            await ctx.session.report_progress(done, 100, f"{done} of 100")
    if name == "test_tool_with_logging":
        for message in ("began", "works", "is done"):
            await log(ctx, "info", message)
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"{name} is done\n")])
