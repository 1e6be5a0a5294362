"""The MCP server, built on the low-level server of the package `mcp`.

Serves the protocol versions with a handshake and the one without, as the first request requires.
It holds no debug session: sessions belong to the daemon, so they outlive the client and are shared
with the command line.
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
from freezeframe.frontends.daemon_client import DaemonClient
from freezeframe.ops._registry import OPS
from freezeframe.render import PLAIN, render_error

from . import conformance, resources, skills
from .errors import protocol_errors
from .notifications import Notifier, StaticCatalogServer, log_message
from .tool_texts import call, for_agents, message_for_agents
from .tools import McpTool, find_tool
from .truncate import fit

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.types import ASGIApp, Receive, Scope, Send

    RequestContext = ServerRequestContext[Any, Any]

INSTRUCTIONS = (
    "Freezeframe: debug any program. A call that resumes the program answers at its next stop "
    "with reason, source, variables (`*` = changed) and output. `session` names one of several; "
    "without it, the current one of the workspace. `next:` in an answer is a call to make. "
    "Sessions outlive the connection: end with debug_stop."
)
#: default budget of structured data
DATA_TOKENS = 2000
#: the protocol's limit
MOST_COMPLETIONS = 100
#: time limit of a request for the client's roots
ROOTS_S = 3.0


def make_server(
    daemon: DaemonClient,
    tools: Mapping[str, McpTool],
    *,
    budget: int | None,
    structured: bool = False,
    for_suite: bool = False,
) -> Server[Any]:
    """Return the server of *tools*; each call is a request to the daemon.

    With *structured*, answers hold data besides their text. Several hosts give the model only the
    data and lose notes and next steps, so it is off by default. With *for_suite*, the tools of the
    conformance suite are there, too.
    """
    notifier = Notifier(daemon, _adopt_client_root)
    handlers = _Handlers(daemon, tools, notifier, budget, structured, for_suite)
    server = StaticCatalogServer(
        "freezeframe",
        version=__version__,
        title="Freezeframe",
        instructions=INSTRUCTIONS
        + ("" if daemon.has_no_project else f" Paths count from {daemon.cwd}."),
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    notifier.register(server)
    skills.register(server)
    return server


class _Handlers:
    """Answers the requests of one client."""

    def __init__(
        self,
        daemon: DaemonClient,
        tools: Mapping[str, McpTool],
        notifier: Notifier,
        budget: int | None,
        structured: bool,
        for_suite: bool,
    ) -> None:
        self._daemon = daemon
        self._tools = tools
        self._notifier = notifier
        self._budget = budget
        self._structured = structured
        self._for_suite = for_suite

    async def list_tools(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        skills.refuse_cursor(params)
        declared = [tool.declaration(structured=self._structured) for tool in self._tools.values()]
        if self._for_suite:
            declared += conformance.declarations()
        return types.ListToolsResult.model_validate({"tools": declared})

    async def call_tool(
        self, ctx: RequestContext, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        if self._for_suite and params.name in conformance.TOOLS:
            return await self._call_for_suite(ctx, params.name)
        tool = find_tool(params.name, self._tools)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, _no_tool(params.name, self._tools))

        async def progress(waited_s: float) -> None:
            await ctx.session.report_progress(waited_s, None, f"under way for {waited_s:.0f} s")

        await _adopt_client_root(ctx, self._daemon)
        try:
            async with self._notifier.logged(ctx):
                answer = await self._daemon.call(tool.request(params.arguments or {}), progress)
        except FreezeframeError as error:
            await self._notifier.warn(ctx, getattr(error, "__notes__", ()))
            return _error_result(error, self._tools, tool)
        await self._notifier.warn(ctx, answer.get("notes", ()))
        return types.CallToolResult(
            content=[_text(for_agents(answer["text"], self._tools), answer.get("notes", ()))],
            structured_content=fit(answer["result"], self._budget or DATA_TOKENS)
            if self._structured
            else None,
        )

    async def _call_for_suite(self, ctx: RequestContext, name: str) -> types.CallToolResult:
        try:
            return await conformance.call(ctx, name, log_message)
        except FreezeframeError as error:
            return _error_result(error, self._tools, McpTool(name, "status"))

    async def list_resources(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        skills.refuse_cursor(params)
        await _adopt_client_root(ctx, self._daemon)
        with protocol_errors():
            found = await resources.current_resources(self._daemon)
        return types.ListResourcesResult.model_validate(
            {"resources": [_listed(each, "uri") for each in found]}
        )

    async def list_templates(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        skills.refuse_cursor(params)
        return types.ListResourceTemplatesResult.model_validate(
            {"resourceTemplates": [_listed(each, "uriTemplate") for each in resources.TEMPLATES]}
        )

    async def read_resource(
        self, ctx: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        await _adopt_client_root(ctx, self._daemon)
        with protocol_errors(uri):
            text, mime = await resources.read(self._daemon, uri)
        return types.ReadResourceResult.model_validate(
            {"contents": [{"uri": uri, "mimeType": mime, "text": text}]}
        )

    async def list_prompts(
        self, ctx: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        skills.refuse_cursor(params)
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
                for prompt in resources.PROMPTS.values()
            ]
        )

    async def get_prompt(
        self, ctx: RequestContext, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        prompt = resources.PROMPTS.get(params.name)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no prompt {params.name}")
        with protocol_errors():
            text = prompt.filled(params.arguments or {})
        message = types.PromptMessage(
            role="user", content=types.TextContent(type="text", text=text)
        )
        return types.GetPromptResult(description=prompt.description, messages=[message])

    async def complete(
        self, ctx: RequestContext, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        argument = params.argument
        await _adopt_client_root(ctx, self._daemon)
        with protocol_errors():
            if isinstance(params.ref, types.PromptReference):
                values = resources.of_prompt(params.ref.name, argument.name)
            else:
                uri = str(params.ref.uri)
                values = await resources.of_template(self._daemon, uri, argument.name)
        near = [value for value in values if value.startswith(argument.value)]
        shown = near[:MOST_COMPLETIONS]
        return types.CompleteResult(
            completion=types.Completion(
                values=shown, total=len(near), has_more=len(near) > len(shown)
            )
        )


async def _adopt_client_root(ctx: RequestContext, daemon: DaemonClient) -> None:
    """Use the client's first root if the host started the server outside of a project. Once."""
    if not daemon.has_no_project:
        return
    offered = ctx.session.client_capabilities
    found = None
    if offered is not None and offered.roots is not None and ctx.session.can_send_request:
        with suppress(MCPError, TimeoutError):
            async with asyncio.timeout(ROOTS_S):
                answer = await ctx.session.send_request(
                    types.ListRootsRequest(), types.ListRootsResult
                )
            urls = (urlsplit(str(root.uri)) for root in answer.roots)
            paths = (unquote(url.path) for url in urls if url.scheme == "file")
            found = next((path for path in paths if os.path.isdir(path)), None)
    daemon.set_project(found)


def _listed(document: resources.Resource, key: str) -> dict[str, object]:
    return {
        key: document.uri,
        "name": document.name,
        "description": document.description,
        "mimeType": document.mime,
    }


def _text(text: str, notes: Iterable[str]) -> types.TextContent:
    prefix = "".join(f"note: {note}\n" for note in notes)
    return types.TextContent(type="text", text=prefix + text)


def _no_tool(name: str, tools: Mapping[str, McpTool]) -> str:
    """Return the message for an unknown tool, with the known ones."""
    command = name.removeprefix("debug_").replace("_", " ")
    call_ = call(command, tools) if command in OPS else ""
    instead = f"call {call_}" if call_ else f"there are {', '.join(tools)}"
    return f"there is no tool {name[:60]}; {instead}"


def _error_result(
    error: FreezeframeError, tools: Mapping[str, McpTool], tool: McpTool
) -> types.CallToolResult:
    """Return *error* as a tool result that the agent can act on.

    Text only: clients drop the message if its data does not match the tool's output schema.
    """
    error.message = message_for_agents(error.message, tool)
    text = for_agents(render_error(error, PLAIN), tools)
    return types.CallToolResult(
        content=[_text(text, getattr(error, "__notes__", ()))], is_error=True
    )


# --- transports ---------------------------------------------------------------------------------


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the client on standard input and output until it disconnects."""
    try:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
    except* (BrokenPipeError, ConnectionResetError):
        pass  # the client was killed while a message was being sent


async def serve_http(server: Server[Any], listener: socket.socket, token: str) -> None:
    """Serve clients that send *token* at /mcp of a listening socket, until interrupted."""
    import uvicorn

    app = server.streamable_http_app(host=listener.getsockname()[0])
    config = uvicorn.Config(_Guard(app, token), log_level="warning", timeout_graceful_shutdown=2)
    await uvicorn.Server(config).serve(sockets=[listener])


class _Guard:
    """ASGI middleware that rejects requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self._is_authorized(scope):
            headers = [(b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"a bearer token is required\n"})
            return
        await self._app(scope, receive, send)

    def _is_authorized(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        return len(given) == 1 and hmac.compare_digest(given[0], self._expected)
