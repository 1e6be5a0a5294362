"""The skills extension of MCP: the skill as a resource, its entry and its digest."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from freezeframe.ops._skill import SKILL_FIELDS, skill_text

from .resources import SKILL_URI

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    RequestContext = ServerRequestContext[Any, Any]

EXTENSION = "io.modelcontextprotocol/skills"
#: the skill changes with the installed version only
_TTL_MS = 300_000


class GetSkillParams(types.RequestParams):
    """The parameters of `skills/get`."""

    uri: str


def register(server: Server[Any]) -> None:
    """Declare the extension, and register its methods with *server*."""
    server.extensions[EXTENSION] = {}
    server.add_request_handler("skills/list", types.PaginatedRequestParams, _list)
    server.add_request_handler("skills/get", GetSkillParams, _get)


async def _list(ctx: RequestContext, params: types.PaginatedRequestParams | None) -> dict[str, Any]:
    refuse_cursor(params)
    return _complete({"skills": [_entry()]})


async def _get(ctx: RequestContext, params: GetSkillParams) -> dict[str, Any]:
    if params.uri != SKILL_URI:
        raise MCPError(types.INVALID_PARAMS, f"there is no skill {params.uri[:200]}")
    return _complete({"skill": _entry()})


def refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Raise MCPError for a cursor: every list has one page, so no cursor was ever given out."""
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, f"there is no cursor {params.cursor[:60]!r}")


def _complete(fields: dict[str, Any]) -> dict[str, Any]:
    return {"resultType": "complete", **fields, "ttlMs": _TTL_MS, "cacheScope": "public"}


def _entry() -> dict[str, Any]:
    data = skill_text().encode()
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    file = {"uri": SKILL_URI, "digest": digest, "size": len(data)}
    return {"uri": SKILL_URI, "frontmatter": dict(SKILL_FIELDS), "resources": [file]}
