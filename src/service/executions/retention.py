"""How long executions are kept: old ones are deleted with their events, a few at a time."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

import anyio
import anyio.lowlevel

from caps.protocol.errors import CapsError
from caps.store.columns import now
from caps.store.database import Store
from caps.store.repositories.executions import Executions

BATCH: Final = 200
_PAUSE_SECONDS: Final = 600.0

logger = logging.getLogger(__name__)


async def prune_executions(store: Store, days: float) -> None:
    """Until cancelled; the first time at once. Returns at once if they are kept for ever (0)."""
    while days > 0:
        try:
            while await prune_some(store, days) == BATCH:
                await anyio.lowlevel.checkpoint()  # between two transactions others take their turn
        except CapsError:
            logger.exception("old executions cannot be deleted; it is tried again")
        await anyio.sleep(_PAUSE_SECONDS)


async def prune_some(store: Store, days: float) -> int:
    """Delete a batch that ended longer ago than this; its size. StoreError."""
    before = now() - timedelta(days=days)
    return await store.write(lambda found: Executions(found).prune(before, limit=BATCH))
