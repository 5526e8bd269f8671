"""What the kernel says about processors and scheduling policies, here and now.

A process may give any other of its user the policy SCHED_IDLE. Only with CAP_SYS_NICE, or if
RLIMIT_NICE allows the usual priority (20 or more), may it take that back. Nothing here raises.
"""

from __future__ import annotations

import ctypes
import logging
import os
import resource
import threading
from collections.abc import Callable
from pathlib import Path

from caps.protocol.environment import Variable
from caps.protocol.errors import CapsError, ConfigurationError

logger = logging.getLogger(__name__)

_ON, _OFF = "on", "off"
_USUAL_NICE = 20  # the RLIMIT_NICE that allows a nice value of 0
_CAP_SYS_NICE = 23
NO_PRIORITY = os.sched_param(0)  # the only one that SCHED_OTHER and SCHED_IDLE have


def may_share_processor() -> bool:
    """Whether the operator allows it. ConfigurationError if the variable has another value."""
    value = Variable.SHARE_PROCESSOR.read() or _ON
    if value not in (_ON, _OFF):
        raise ConfigurationError(
            f"{Variable.SHARE_PROCESSOR.key} is `{value}`; set `{_ON}` or `{_OFF}`"
        )
    return value == _ON


class Scheduling:
    """What was found out about this process, and what changes from moment to moment."""

    def __init__(self) -> None:
        self.is_usable: bool | None = None
        """Whether a worker may be moved and put back; None while that is not known."""
        self._is_asked = False
        self._processor_number: Callable[[], int] = lambda: -1

    def find_out(self) -> None:
        """Find out whether it is usable, once, in a thread: a policy can be tried on a thread."""
        if self._is_asked:
            return
        self._is_asked = True
        try:
            threading.Thread(target=self._find_out, name="caps-scheduling", daemon=True).start()
        except RuntimeError:  # the process may have no more threads
            self.is_usable = False

    def current_processor(self) -> int:
        """The processor that this thread runs on. Only if it is usable."""
        return self._processor_number()

    def is_busy(self, ours: int) -> bool:
        """Whether tasks beside `ours` leave less than two processors idle. True if unknown."""
        try:
            file = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
            try:
                runnable, _, _ = os.read(file, 128).split()[3].partition(b"/")
            finally:
                os.close(file)
            # Tasks elsewhere count, too, if this process may use only some of the processors.
            return int(runnable) - ours > len(os.sched_getaffinity(0)) - 2
        except (OSError, IndexError, ValueError):
            return True

    def _find_out(self) -> None:
        """Runs in a thread of its own, which ends after it."""
        number = getattr(ctypes.PyDLL(None), "sched_getcpu", None)  # not in every C library
        try:
            usable = (
                may_share_processor()
                and number is not None
                and len(os.sched_getaffinity(0)) > 1
                and _may_restore_policy()
                and _policy_can_be_restored()
            )
        except (OSError, ValueError, CapsError) as error:
            logger.debug("workers do not share the processor of this thread: %s", error)
            usable = False
        self._processor_number = number or self._processor_number
        self.is_usable = usable


def _may_restore_policy() -> bool:
    """Whether a try is worth it. A thread that keeps SCHED_IDLE may hold what all others need."""
    if resource.getrlimit(resource.RLIMIT_NICE)[0] >= _USUAL_NICE:
        return True
    lines = Path("/proc/self/status").read_text().splitlines()
    (effective,) = [line.split()[1] for line in lines if line.startswith("CapEff:")]
    return bool(int(effective, 16) >> _CAP_SYS_NICE & 1)


def _policy_can_be_restored() -> bool:
    """Try it on this thread, which keeps the policy SCHED_IDLE if it cannot."""
    os.sched_setscheduler(0, os.SCHED_IDLE, NO_PRIORITY)
    os.sched_setscheduler(0, os.SCHED_OTHER, NO_PRIORITY)
    return True
