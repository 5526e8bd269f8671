"""What all tests share."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio; those that care run on trio, too, and say so."""
    return "asyncio"
