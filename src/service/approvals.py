"""Approvals of a service: calls wait in the store, where every instance of it finds them.

The row of the store decides: the first answer counts, from whichever way it came. There are two:
the API, for those who may sign in, and the directory of `caps approvals`, for the operator of this
host. A call whose row cannot be written is denied.
"""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Final

import anyio
import msgspec

from caps.protocol.errors import CapsError, ConfigurationError
from caps.security.approvals.approver import DirectoryApprover
from caps.security.approvals.model import ApprovalAnswer, ApprovalRequest
from caps.store.database import Store
from caps.store.repositories.approvals import Approvals, StoredApproval

POLL_SECONDS: Final = 0.25
_REMOVE_SECONDS: Final = 10

logger = logging.getLogger(__name__)


class _Waiting:
    """One call of this process that waits."""

    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.answer = ""


class StoreApprover:
    """Asks through the store, and through the directory of this host."""

    def __init__(self, store: Store, instance: str) -> None:
        self._store = store
        self._instance = instance
        self._by_directory = DirectoryApprover()
        self._waiting: dict[str, _Waiting] = {}
        self._asked = anyio.Event()

    @property
    def directory(self) -> Path:
        """No policy may reach it: whoever writes there approves."""
        return self._by_directory.directory

    async def clear(self) -> None:
        """Remove what an earlier process of this instance left. StoreError."""
        await self._store.write(lambda found: Approvals(found).clear(self._instance))

    async def __call__(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Wait for the first answer. StoreError, which denies the call."""
        row = StoredApproval(
            id=request.id,
            principal=request.principal,
            instance=self._instance,
            request=msgspec.json.encode(request).decode(),
            asked_at=datetime.fromisoformat(request.asked_at),
            expires_at=datetime.fromisoformat(request.expires_at),
        )
        waiting = self._waiting[request.id] = _Waiting()
        try:
            await self._store.write(lambda found: Approvals(found).add(row))
            self._asked.set()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._ask_directory, request)
                await waiting.answered.wait()
                tasks.cancel_scope.cancel()
            return msgspec.json.decode(waiting.answer, type=ApprovalAnswer)
        finally:
            del self._waiting[request.id]
            with anyio.move_on_after(_REMOVE_SECONDS, shield=True):
                await self._store.write(lambda found: Approvals(found).remove(request.id))

    async def run(self) -> None:
        """Look for answers, until cancelled. An answer that cannot be read is none: it expires."""
        while True:
            await self._asked.wait()
            self._asked = anyio.Event()
            while self._waiting:
                try:
                    await self._look()
                except CapsError:
                    logger.exception("answers to approvals cannot be read; they are read again")
                await anyio.sleep(POLL_SECONDS)

    async def _look(self) -> None:
        ids = tuple(self._waiting)
        found = await self._store.read(lambda connection: Approvals(connection).answers(ids))
        for approval_id, answer in found.items():
            waiting = self._waiting.get(approval_id)
            if waiting is not None:
                waiting.answer = answer
                waiting.answered.set()

    async def _ask_directory(self, request: ApprovalRequest) -> None:
        try:
            answer = await self._by_directory(request)
        except ConfigurationError as error:
            logger.warning("%s; only the API can answer", error.message)
            return
        text = msgspec.json.encode(answer).decode()
        if not await self._store.write(lambda found: Approvals(found).answer(request.id, text)):
            logger.warning("`%s` was answered already; a later answer is ignored", request.id)
