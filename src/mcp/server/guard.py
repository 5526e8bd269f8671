"""Around every request: how many are under way, what is measured, and which errors are told.

An exception that nobody expected says nothing to the client; the log of the host has it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST
from pydantic import ValidationError

from caps.capabilities.telemetry.mcp import TOOL_ERROR, McpTelemetry
from caps.mcp.server.caller import CallerOf, Context, hold_flow
from caps.mcp.server.limits import ServerLimits
from caps.protocol.errors import (
    CallerFault,
    CapsError,
    LimitExceededError,
    PolicyDeniedError,
    WorkerLostError,
)

HIDDEN: Final = "the server failed; the log of the host says why"
_TELLABLE: Final = (CallerFault, LimitExceededError, PolicyDeniedError, WorkerLostError)
_CALL_TOOL: Final = "tools/call"

logger = logging.getLogger(__name__)


def message_of(error: CapsError) -> str:
    """What a client may know of an error."""
    if isinstance(error, _TELLABLE):
        return f"{type(error).__name__}: {error.message}"
    logger.error("an MCP request failed: %s", error.message, exc_info=error)
    return HIDDEN


class Guard:
    """A middleware of the SDK's server."""

    def __init__(
        self,
        caller_of: CallerOf,
        tool_of: Callable[[Context], str | None],
        telemetry: McpTelemetry,
        limits: ServerLimits,
    ) -> None:
        """`tool_of` is the tool of the server that a request calls, if it calls one."""
        self._caller_of = caller_of
        self._tool_of = tool_of
        self._telemetry = telemetry
        self._limits = limits
        self._under_way: dict[str, int] = {}

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Raises MCPError and ValidationError, which the SDK tells the client, and nothing else."""
        if ctx.request_id is None:
            return await call_next(ctx)
        caller = self._caller_of(ctx)
        hold_flow(caller, ctx)
        session = caller.session
        count = self._under_way.get(session, 0)
        if count >= self._limits.requests:
            raise MCPError(
                code=INVALID_REQUEST, message=f"{count} requests are under way; wait for some"
            )
        self._under_way[session] = count + 1
        try:
            return await self._observed(ctx, session, call_next)
        finally:
            self._under_way[session] -= 1
            if not self._under_way[session]:
                del self._under_way[session]

    async def _observed(self, context: Context, session: str, call_next: CallNext) -> HandlerResult:
        with self._telemetry.request(
            context.method,
            tool=self._tool_of(context),
            session_id=session,
            request_id=context.request_id,
            meta=None if context.meta is None else dict(context.meta),
        ) as request:
            try:
                result = await call_next(context)
            except MCPError as error:
                request.fail(str(error.code))
                raise
            except ValidationError:
                request.fail(str(INVALID_PARAMS))
                raise
            except CapsError as error:
                request.fail(str(INTERNAL_ERROR))
                raise MCPError(code=INTERNAL_ERROR, message=message_of(error)) from None
            except Exception:
                request.fail(str(INTERNAL_ERROR))
                logger.exception("an MCP request failed")
                raise MCPError(code=INTERNAL_ERROR, message=HIDDEN) from None
            if context.method == _CALL_TOOL and isinstance(result, dict) and result.get("isError"):
                request.fail(TOOL_ERROR)
            return result
