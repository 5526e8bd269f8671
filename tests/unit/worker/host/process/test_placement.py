"""The affinity and the policy of a process, changed and restored; the kernel says what they are."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from caps.worker.host.process.placement import Placement

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(os.geteuid() != 0, reason="restoring a policy needs CAP_SYS_NICE"),
]

ALLOWED = os.sched_getaffinity(0)
FIRST, LAST = min(ALLOWED), max(ALLOWED)
NOT_THERE = 1000


@contextmanager
def process() -> Iterator[tuple[subprocess.Popen[bytes], Placement]]:
    """A process that waits, and its placement."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as made:
        pidfd = os.pidfd_open(made.pid)
        try:
            yield made, Placement(pidfd, made.pid)
        finally:
            os.close(pidfd)
            made.kill()


def placed(pid: int) -> tuple[int, set[int]]:
    return os.sched_getscheduler(pid), os.sched_getaffinity(pid)


def test_near_and_apart_again() -> None:
    """One processor and SCHED_IDLE, and then what it was."""
    with process() as (made, placement):
        assert placement.near(FIRST)
        assert placed(made.pid) == (os.SCHED_IDLE, {FIRST})
        assert placement.near(LAST)
        assert placed(made.pid) == (os.SCHED_IDLE, {LAST})
        placement.apart()
        assert placed(made.pid) == (os.SCHED_OTHER, ALLOWED)


def test_the_processors_that_it_had_are_restored() -> None:
    """Not those of the host."""
    with process() as (made, placement):
        os.sched_setaffinity(made.pid, {LAST})
        placement.near(FIRST)
        placement.apart()
        assert placed(made.pid) == (os.SCHED_OTHER, {LAST})


def test_one_that_is_apart_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if it is put back twice."""
    with process() as (_, placement):
        placement.near(FIRST)
        placement.apart()
        monkeypatch.delattr(os, "sched_setscheduler")
        monkeypatch.delattr(os, "sched_setaffinity")
        placement.apart()


def test_a_policy_of_the_operator_is_left_alone() -> None:
    """It could not be restored."""
    with process() as (made, placement):
        os.sched_setscheduler(made.pid, os.SCHED_BATCH, os.sched_param(0))
        assert not placement.near(FIRST)
        assert placed(made.pid) == (os.SCHED_BATCH, ALLOWED)


@pytest.mark.parametrize("was_near", [False, True])
def test_a_processor_that_it_may_not_use_leaves_it_apart(was_near: bool) -> None:
    """With its policy, which had been changed before."""
    with process() as (made, placement):
        if was_near:
            assert placement.near(FIRST)
        assert not placement.near(NOT_THERE)
        assert placed(made.pid) == (os.SCHED_OTHER, ALLOWED)


def test_a_policy_that_cannot_be_set_leaves_it_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as under a filter of system calls."""

    def refused(*_: object) -> None:
        raise PermissionError

    with process() as (made, placement):
        monkeypatch.setattr(os, "sched_setscheduler", refused)
        assert not placement.near(FIRST)
        assert placed(made.pid) == (os.SCHED_OTHER, ALLOWED)


def test_its_processors_are_restored_if_its_policy_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much as possible."""
    set_policy = os.sched_setscheduler

    def refused(pid: int, policy: int, parameter: Any) -> None:
        if policy == os.SCHED_OTHER:
            raise PermissionError
        set_policy(pid, policy, parameter)

    with process() as (made, placement):
        assert placement.near(FIRST)
        monkeypatch.setattr(os, "sched_setscheduler", refused)
        placement.apart()
        assert placed(made.pid) == (os.SCHED_IDLE, ALLOWED)


def test_a_process_that_was_reaped_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its id may be that of another process."""
    with process() as (made, placement):
        placement.near(FIRST)
        made.kill()
        made.wait()
        monkeypatch.delattr(os, "sched_getscheduler")
        monkeypatch.delattr(os, "sched_setscheduler")
        monkeypatch.delattr(os, "sched_setaffinity")
        placement.apart()
        assert not placement.near(FIRST)
