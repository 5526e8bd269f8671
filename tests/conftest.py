"""Settings and fixtures of all tests."""

from __future__ import annotations

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from support.process_starts import ProcessStarts

# `make test` uses the short profile, `make quick` the quick one. For the long one:
# `HYPOTHESIS_PROFILE=long`.
settings.register_profile(
    "short", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100
)
settings.register_profile("quick", parent=settings.get_profile("short"), max_examples=20)
settings.register_profile("long", parent=settings.get_profile("short"), max_examples=50_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))


# A shell that starts the tests in the background makes them ignore SIGINT, and every program that a
# test starts would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessStarts(), "process_starts")


def pytest_collection_finish() -> None:
    """Spare each collection of garbage the sixteen thousand tests, which stay to the end."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """The number of test processes for `-n auto`: more than cores, as many tests wait for others.

    Of those that start no process few do, so a selection by markers (`make quick`) gets one more.
    """
    cores = len(os.sched_getaffinity(0))
    return cores + 1 if config.option.markexpr else cores + (cores + 1) // 2


@pytest.fixture
def anyio_backend() -> str:
    """Asynchronous tests run on asyncio; a test that also runs on trio overrides this."""
    return "asyncio"
