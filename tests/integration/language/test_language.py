"""The language in the locked-down worker: what works, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from caps import Runtime
from caps.security.audit.log.memory import MemoryAuditLog
from support.language_files import Construct, Refused, constructs, constructs_here, refused


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """Grants nothing: the language needs no power."""
    with Runtime(policy={"allow": []}, audit=MemoryAuditLog()) as runtime:
        yield runtime


def test_there_are_constructs_enough() -> None:
    """A directory that was moved would make all of this pass."""
    assert len(constructs()) >= 120
    assert len(refused()) >= 25


@pytest.mark.parametrize("construct", constructs_here(), ids=lambda one: one.name)
def test_a_construct_works(runtime: Runtime, construct: Construct) -> None:
    """The program's own assertions hold."""
    result = runtime.run_sync(construct.source)
    assert result.ok, result.error.traceback if result.error else ""


@pytest.mark.parametrize("program", refused(), ids=lambda one: one.name)
def test_what_is_refused_says_so(runtime: Runtime, program: Refused) -> None:
    """The error is the one that the page tells of."""
    result = runtime.run_sync(program.source)
    assert result.error is not None
    assert result.error.type == program.error
    assert program.message in result.error.message
