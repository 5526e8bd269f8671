"""(8) Evidence of what administrators do: a record before a change, and one after it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

import anyio
import msgspec

from caps.protocol.errors import CapsError
from caps.protocol.ways import Via
from caps.security.audit.log.interface import AuditSink
from caps.security.audit.model.records import AdminAction, AdminActionName


class Administrator(msgspec.Struct, frozen=True, kw_only=True):
    """Who changes something, and where that is recorded."""

    audit: AuditSink
    principal: str
    via: Via = "call"

    @asynccontextmanager
    async def recorded(
        self, action: AdminActionName, subject: str, *, sha256: str | None = None
    ) -> AsyncIterator[list[str]]:
        """Make the change within this context; what is put into the list is said in its record.

        AuditError before the change if it cannot be recorded: then the change must not be made.
        """
        begun = AdminAction(
            principal=self.principal,
            via=self.via,
            action=action,
            subject=subject,
            sha256=sha256,
            status="begun",
        )
        await self.audit.append(begun)
        said: list[str] = []
        try:
            yield said
        except BaseException as error:
            code = error.code if isinstance(error, CapsError) else type(error).__name__
            await self._settle(begun, "failed", code)
            raise
        await self._settle(begun, "done", "; ".join(said) or None)

    async def note(self, action: AdminActionName, subject: str, message: str | None = None) -> None:
        """Record what was found to have been done already."""
        done = AdminAction(
            principal=self.principal,
            via=self.via,
            action=action,
            subject=subject,
            status="done",
            message=message,
        )
        await self.audit.append(done)

    async def _settle(
        self, begun: AdminAction, status: Literal["done", "failed"], message: str | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            ended = msgspec.structs.replace(begun, status=status, message=message)
            await self.audit.append(ended)
