"""One line a request: who, which route, how it ended. No path, query, header or body of it.

Also the headers that every answer has.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

logger = logging.getLogger("caps.service.requests")

_HEADERS: Final = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))


class RequestLog:
    """An ASGI middleware, outside of everything else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 0

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                named = {name.lower() for name, _ in message["headers"]}
                added = [each for each in _HEADERS if each[0] not in named]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        finally:
            route = getattr(scope.get("route"), "path", "(no route)")
            principal = scope.get("state", {}).get("principal")
            logger.info(
                "%s %s %d %.1f ms %a",
                *(scope["method"], route, status, (time.perf_counter() - begun) * 1000),
                "-" if principal is None else principal.name,
            )
