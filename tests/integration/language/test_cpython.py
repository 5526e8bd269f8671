"""CPython's own tests in the locked-down worker: each ends as it is recorded in `tests/cpython`.

`scripts/cpython_tests.py` does the same by hand, and records the tests that end differently.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from caps import MemoryAuditLog, Runtime
from support.cpython.differences import (
    RECORDED,
    every_version,
    expected,
    modules,
    problems,
    reasons,
)
from support.cpython.runs import POLICY, run_module
from support.cpython.sources import find_file

# A known gap of the versions without lists, and not of this machine: no setting makes it a failure.
UNRECORDED = pytest.mark.skip(f"no differences are recorded for Python {RECORDED.name}")


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """Grants nothing: the tests need no power."""
    if find_file("test_heapq") is None:
        reason = "the package `test` of this Python is not installed"
        give_up = pytest.fail if os.environ.get("CAPS_FORBID_SKIPS") else pytest.skip
        give_up(reason)
    with Runtime(policy=POLICY, audit=MemoryAuditLog()) as runtime:
        yield runtime


@pytest.mark.parametrize("module", modules() or [pytest.param("none", marks=UNRECORDED)])
def test_the_tests_of_a_module_end_as_recorded(runtime: Runtime, module: str) -> None:
    """No difference is new, and none that is listed is gone."""
    found = problems(module, run_module(runtime, module))
    if found:
        # Some tests measure time, and a busy machine fails them: what counts happens twice.
        again = problems(module, run_module(runtime, module))
        found = {test: problem for test, problem in found.items() if test in again}
    assert found == {}


def test_every_reason_has_a_test() -> None:
    """The page of the language shows no reason that no longer exists in any version."""
    used = {
        key
        for recorded in every_version()
        for module in modules(recorded)
        for key in expected(module, recorded).values()
    }
    assert used == set(reasons())
