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
_VALUES = {_ON: True, _OFF: False, "1": True, "0": False}  # the numbers: a boolean in TOML or JSON
_USUAL_NICE = 20  # the RLIMIT_NICE that allows a nice value of 0
_CAP_SYS_NICE = 23
NO_PRIORITY = os.sched_param(0)  # the only one that SCHED_OTHER and SCHED_IDLE have


def may_share_processor() -> bool:
    """Whether the operator allows it. ConfigurationError if the variable has another value."""
    value = Variable.SHARE_PROCESSOR.read() or _ON
    if value not in _VALUES:
        raise ConfigurationError(
            f"{Variable.SHARE_PROCESSOR.key} is `{value}`; set `{_ON}` or `{_OFF}`"
        )
    return _VALUES[value]


def why_not_shared() -> str:
    """Why no worker can be moved and put back here; empty if one can. Waits for a short thread."""
    scheduling = Scheduling()
    thread = scheduling.find_out()
    if thread is not None:
        thread.join()
    return scheduling.reason


class Scheduling:
    """What was found out about this process, and what changes from moment to moment."""

    def __init__(self) -> None:
        self.is_usable: bool | None = None
        """Whether a worker may be moved and put back; None while that is not known."""
        self.reason = ""
        """Why it is not usable."""
        self._is_asked = False
        self._processor_number: Callable[[], int] = lambda: -1

    def find_out(self) -> threading.Thread | None:
        """Find out whether it is usable, once, in a thread: a policy can be tried on a thread."""
        if self._is_asked:
            return None
        self._is_asked = True
        thread = threading.Thread(target=self._find_out, name="caps-scheduling", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            self.is_usable, self.reason = False, "the process may have no more threads"
            return None
        return thread

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
        number = getattr(ctypes.PyDLL(None), "sched_getcpu", None)
        try:
            if not may_share_processor():
                self.reason = f"{Variable.SHARE_PROCESSOR.key} is `{_OFF}`"
            elif number is None:
                self.reason = "this C library does not say which processor a thread runs on"
            elif len(os.sched_getaffinity(0)) < 2:
                self.reason = "this process may use one processor only"
            elif not _may_restore_policy():
                self.reason = f"it takes CAP_SYS_NICE, or an RLIMIT_NICE of {_USUAL_NICE} or more"
            else:
                _try_policy()
        except (OSError, ValueError, CapsError) as error:
            self.reason = str(error) or type(error).__name__
        if self.reason:
            logger.debug("workers do not share the processor of this thread: %s", self.reason)
        self._processor_number = number or self._processor_number
        self.is_usable = not self.reason


def _may_restore_policy() -> bool:
    """Whether a try is worth it. A thread that keeps SCHED_IDLE may hold what all others need."""
    if resource.getrlimit(resource.RLIMIT_NICE)[0] >= _USUAL_NICE:
        return True
    lines = Path("/proc/self/status").read_text().splitlines()
    (effective,) = [line.split()[1] for line in lines if line.startswith("CapEff:")]
    return bool(int(effective, 16) >> _CAP_SYS_NICE & 1)


def _try_policy() -> None:
    """Try it on this thread, which keeps the policy SCHED_IDLE if OSError is raised."""
    os.sched_setscheduler(0, os.SCHED_IDLE, NO_PRIORITY)
    os.sched_setscheduler(0, os.SCHED_OTHER, NO_PRIORITY)
