"""What all tests share."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# The short form runs in `make test`; `HYPOTHESIS_PROFILE=long pytest tests/properties` by hand.
settings.register_profile(
    "short", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100
)
settings.register_profile("long", parent=settings.get_profile("short"), max_examples=50_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


# Who starts the tests in the background may ignore interrupts, and every program that a test starts
# would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio; those that care run on trio, too, and say so."""
    return "asyncio"
