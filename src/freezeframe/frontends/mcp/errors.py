"""Map FreezeframeError to MCP errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import mcp_types as types
from mcp.shared.exceptions import MCPError

from freezeframe.errors import FreezeframeError, NotFound


def protocol_error(error: FreezeframeError, uri: str | None = None) -> MCPError:
    """Return *error* as an MCP error with its code and next step; *uri*: the requested resource."""
    data = {"code": error.error_code, "next": error.next, **({"uri": uri} if uri else {})}
    wrong = isinstance(error, NotFound) or error.error_code in ("usage", "no-session", "not-found")
    return MCPError(types.INVALID_PARAMS if wrong else types.INTERNAL_ERROR, str(error), data)


@contextmanager
def protocol_errors(uri: str | None = None) -> Iterator[None]:
    """Raise a FreezeframeError as an MCP error."""
    try:
        yield
    except FreezeframeError as error:
        raise protocol_error(error, uri) from None
