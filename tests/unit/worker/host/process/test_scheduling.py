"""What this process may do to the scheduling of its workers, and how busy the machine is."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.worker.host.process.scheduling import (
    Scheduling,
    may_share_processor,
    why_not_shared,
)


@pytest.fixture(autouse=True)
def policies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The policies that were set; nothing is changed."""
    monkeypatch.delenv(Variable.SHARE_PROCESSOR.key, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (20, 20))
    calls: list[int] = []
    monkeypatch.setattr(os, "sched_setscheduler", lambda _pid, policy, _: calls.append(policy))
    return calls


def found_out() -> Scheduling:
    """What a thread of its own found out."""
    made = Scheduling()
    made.find_out()
    for thread in threading.enumerate():
        if thread.name == "caps-scheduling":
            thread.join()
    return made


def test_it_is_unknown_until_it_is_asked(policies: list[int]) -> None:
    """To be loaded changes nothing."""
    assert Scheduling().is_usable is None
    assert policies == []


def test_a_policy_is_tried_on_a_thread_of_its_own(policies: list[int]) -> None:
    """There and back, once."""
    made = found_out()
    assert made.find_out() is None
    assert made.is_usable is True
    assert made.reason == ""
    assert policies == [os.SCHED_IDLE, os.SCHED_OTHER]
    assert made.current_processor() in range(os.cpu_count() or 1)


def test_a_policy_that_cannot_be_restored_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process without a privilege, whose RLIMIT_NICE is low."""

    def refused(_pid: int, policy: int, _: Any) -> None:
        if policy == os.SCHED_OTHER:
            raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refused)
    assert found_out().is_usable is False


@pytest.mark.parametrize(("capabilities", "tried"), [("0", False), ("800000", True)])
def test_nothing_is_tried_without_a_right_to_go_back(
    monkeypatch: pytest.MonkeyPatch, policies: list[int], capabilities: str, tried: bool
) -> None:
    """A thread that keeps the policy may hold what all others need. CAP_SYS_NICE is a right."""
    status = f"Name:\tpython\nCapEff:\t{capabilities:0>16}\n"
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (0, 0))
    monkeypatch.setattr(Path, "read_text", lambda _path: status)
    assert found_out().is_usable is tried
    assert bool(policies) is tried


def test_one_processor_is_not_shared(monkeypatch: pytest.MonkeyPatch, policies: list[int]) -> None:
    """Host and worker are on it anyway."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {1})
    assert found_out().is_usable is False
    assert policies == []
    assert why_not_shared() == "this process may use one processor only"


@pytest.mark.parametrize("value", ["off", "0"])
def test_the_operator_can_switch_it_off(
    monkeypatch: pytest.MonkeyPatch, policies: list[int], value: str
) -> None:
    """Nothing is tried then. A boolean in the configuration file is a number here."""
    monkeypatch.setenv(Variable.SHARE_PROCESSOR.key, value)
    assert not may_share_processor()
    assert found_out().is_usable is False
    assert policies == []
    assert why_not_shared() == "CAPS_SHARE_PROCESSOR is `off`"


def test_another_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """When a runtime is made; later it is off."""
    monkeypatch.setenv(Variable.SHARE_PROCESSOR.key, "yes")
    with pytest.raises(ConfigurationError, match="CAPS_SHARE_PROCESSOR is `yes`; set `on` or"):
        may_share_processor()
    assert found_out().is_usable is False


def test_a_process_without_more_threads_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call that asked goes on."""

    def no_thread(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    made = Scheduling()
    assert made.find_out() is None
    assert made.is_usable is False
    assert why_not_shared() == "the process may have no more threads"


@pytest.mark.process
def test_a_process_without_privileges_may_not_restore_a_policy() -> None:
    """The kernel says so; nothing is left changed but the thread that tried."""
    program = (
        "import os, resource, threading\n"
        "from caps.worker.host.process.scheduling import Scheduling\n"
        "os.sched_getaffinity = lambda _: {0, 1}\n"
        "limit = resource.getrlimit(resource.RLIMIT_NICE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NICE, (0, limit))\n"
        "if os.geteuid() == 0:\n"
        "    os.setgroups([])\n"
        "    os.setgid(65534)\n"
        "    os.setuid(65534)\n"
        "made = Scheduling()\n"
        "made.find_out()\n"
        "[t.join() for t in threading.enumerate() if t is not threading.current_thread()]\n"
        "print(made.is_usable, os.sched_getscheduler(0) == os.SCHED_OTHER)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("False True\n", "")


@pytest.mark.parametrize(
    ("runnable", "ours", "busy"),
    [(1, 1, False), (3, 1, False), (4, 1, True), (4, 2, False), (5, 2, True)],
)
def test_a_busy_machine_has_no_idle_processor(
    runnable: int, ours: int, busy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four processors, the others may use two: one is for the worker, and one is idle."""
    text = f"0.50 0.25 0.10 {runnable}/345 1234\n".encode()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2, 3})
    monkeypatch.setattr(os, "read", lambda _file, _size: text)
    assert Scheduling().is_busy(ours) is busy


@pytest.mark.parametrize("text", [b"", b"0.50 0.25 0.10", b"0.50 0.25 0.10 x/345 1234"])
def test_a_machine_that_cannot_be_read_counts_as_busy(
    text: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that nothing is changed there."""
    monkeypatch.setattr(os, "read", lambda _file, _size: text)
    assert Scheduling().is_busy(1)


def test_a_host_without_the_file_counts_as_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same."""

    def missing(*_: object) -> int:
        raise FileNotFoundError

    monkeypatch.setattr(os, "open", missing)
    assert Scheduling().is_busy(1)
