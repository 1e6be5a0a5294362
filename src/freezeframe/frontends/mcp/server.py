"""The server itself, on the low-level server of the package `mcp`.

Serves the versions of the protocol with a handshake and the one without, whichever the first
request speaks. It holds no debug session: those are the daemon's, so a client may come and go, and
a command line sees the same ones.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from freezeframe import __version__
from freezeframe.errors import FreezeframeError
from freezeframe.ops._registry import OPS
from freezeframe.render import PLAIN, render_error

from . import documents
from .bridge import Bridge
from .refusals import protocol_errors
from .shrink import fit
from .telling import HonestServer, Telling
from .tools import Tool
from .wording import call, for_agents

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Receive, Scope, Send

    Asked = ServerRequestContext[Any, Any]

INSTRUCTIONS = (
    "Freezeframe: debug any program. A call that lets the program run answers at its next stop "
    "with reason, source, variables (`*` = changed) and output. `session` names one of several; "
    "without it, the current one of the workspace. `next:` in an answer is a call to make. "
    "Sessions stay when you leave: end with debug_stop."
)
#: of the data next to a text, where the caller names no budget
DATA_TOKENS = 2000
#: the protocol allows no more in one answer
MOST_COMPLETIONS = 100
#: a client that has roots has them at hand
ROOTS_S = 3.0


def make_server(
    bridge: Bridge, tools: Mapping[str, Tool], *, budget: int | None, structured: bool = False
) -> Server[Any]:
    """Return the server of *tools*; each call is a request to the daemon.

    With *structured*, answers hold data besides their text. Several hosts give the model only
    that, and lose notes and next steps, so it is for programs that ask for it.
    """
    telling = Telling(bridge, _settle)

    async def list_tools(
        ctx: Asked, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate(
            {"tools": [tool.declaration(structured=structured) for tool in tools.values()]}
        )

    async def call_tool(ctx: Asked, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, _no_tool(params.name, tools))

        async def progress(waited_s: float) -> None:
            await ctx.session.report_progress(waited_s, None, f"under way for {waited_s:.0f} s")

        await _settle(ctx, bridge)
        try:
            async with telling.logged(ctx):
                answer = await bridge.ask(tool.request(params.arguments or {}), progress)
        except FreezeframeError as error:
            await telling.warn(ctx, getattr(error, "__notes__", ()))
            return _refused(error, tools, tool)
        await telling.warn(ctx, answer.get("notes", ()))
        return types.CallToolResult(
            content=[_text(for_agents(answer["text"], tools), answer.get("notes", ()))],
            structured_content=fit(answer["result"], budget or DATA_TOKENS) if structured else None,
        )

    async def list_resources(
        ctx: Asked, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        await _settle(ctx, bridge)
        with protocol_errors():
            found = await documents.documents(bridge)
        return types.ListResourcesResult.model_validate(
            {"resources": [_listed(each, "uri") for each in found]}
        )

    async def list_templates(
        ctx: Asked, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult.model_validate(
            {"resourceTemplates": [_listed(each, "uriTemplate") for each in documents.TEMPLATES]}
        )

    async def read_resource(
        ctx: Asked, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        await _settle(ctx, bridge)
        with protocol_errors(uri):
            text, mime = await documents.read(bridge, uri)
        return types.ReadResourceResult.model_validate(
            {"contents": [{"uri": uri, "mimeType": mime, "text": text}]}
        )

    async def list_prompts(
        ctx: Asked, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=prompt.name,
                    description=prompt.description,
                    arguments=[
                        types.PromptArgument(name=name, description=what, required=index == 0)
                        for index, (name, what) in enumerate(prompt.arguments.items())
                    ],
                )
                for prompt in documents.PROMPTS.values()
            ]
        )

    async def get_prompt(ctx: Asked, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        prompt = documents.PROMPTS.get(params.name)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name}")
        with protocol_errors():
            text = prompt.filled(params.arguments or {})
        message = types.PromptMessage(
            role="user", content=types.TextContent(type="text", text=text)
        )
        return types.GetPromptResult(description=prompt.description, messages=[message])

    async def complete(ctx: Asked, params: types.CompleteRequestParams) -> types.CompleteResult:
        argument = params.argument
        await _settle(ctx, bridge)
        with protocol_errors():
            if isinstance(params.ref, types.PromptReference):
                values = documents.of_prompt(params.ref.name, argument.name)
            else:
                uri = str(params.ref.uri)
                values = await documents.of_template(bridge, uri, argument.name)
        near = [value for value in values if value.startswith(argument.value)]
        shown = near[:MOST_COMPLETIONS]
        return types.CompleteResult(
            completion=types.Completion(
                values=shown, total=len(near), has_more=len(near) > len(shown)
            )
        )

    server = HonestServer(
        "freezeframe",
        version=__version__,
        title="Freezeframe",
        instructions=INSTRUCTIONS + ("" if bridge.astray else f" Paths count from {bridge.cwd}."),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
    )
    telling.join(server)
    return server


async def _settle(ctx: Asked, bridge: Bridge) -> None:
    """Move to the client's first folder when the host started us in none. Once."""
    if not bridge.astray:
        return
    offered = ctx.session.client_capabilities
    found = None
    if offered is not None and offered.roots is not None and ctx.session.can_send_request:
        with suppress(MCPError, TimeoutError):
            async with asyncio.timeout(ROOTS_S):
                answer = await ctx.session.send_request(
                    types.ListRootsRequest(), types.ListRootsResult
                )
            places = (urlsplit(str(root.uri)) for root in answer.roots)
            paths = (unquote(place.path) for place in places if place.scheme == "file")
            found = next((path for path in paths if os.path.isdir(path)), None)
    bridge.settle(found)


def _listed(document: documents.Document, key: str) -> dict[str, object]:
    return {
        key: document.uri,
        "name": document.name,
        "description": document.description,
        "mimeType": document.mime,
    }


def _text(text: str, notes: Iterable[str]) -> types.TextContent:
    told = "".join(f"note: {note}\n" for note in notes)
    return types.TextContent(type="text", text=told + text)


def _no_tool(name: str, tools: Mapping[str, Tool]) -> str:
    """Return that there is no such tool, and which there are."""
    words = name.removeprefix("debug_").replace("_", " ")
    call_ = call(words, tools) if words in OPS else ""
    instead = f"call {call_}" if call_ else f"there are {', '.join(tools)}"
    return f"there is no tool {name[:60]}; {instead}"


def _refused(
    error: FreezeframeError, tools: Mapping[str, Tool], tool: Tool
) -> types.CallToolResult:
    """Return an error that the agent reads, and can act on.

    Text only: data that is not of the tool's own output schema makes clients drop the message.
    """
    for spec in tool.specs():
        if error.message.startswith(f"{spec.id} takes no `args."):
            known = ", ".join(tool.input_schema()["properties"])
            rest = error.message.removeprefix(spec.id).rstrip(".")
            error.message = f"{tool.name}{rest}; it takes {known}."
            break
    text = for_agents(render_error(error, PLAIN), tools)
    return types.CallToolResult(
        content=[_text(text, getattr(error, "__notes__", ()))], is_error=True
    )


# --- transports ---------------------------------------------------------------------------------


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the client at our standard input and output until it leaves."""
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


async def serve_http(server: Server[Any], door: socket.socket, token: str) -> None:
    """Serve clients that know *token* at /mcp of a socket that listens, until interrupted."""
    import uvicorn

    app = server.streamable_http_app(host=door.getsockname()[0])
    config = uvicorn.Config(_Guard(app, token), log_level="warning", timeout_graceful_shutdown=2)
    await uvicorn.Server(config).serve(sockets=[door])


class _Guard:
    """Lets nobody through who does not know the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._knows(scope):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"a bearer token is needed\n"})
            return
        await self._app(scope, receive, send)

    def _knows(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._wanted)
