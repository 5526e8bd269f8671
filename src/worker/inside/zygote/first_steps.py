"""The first steps of a zygote, before it imports what workers need. This module imports little.

A child builds the filters in the meantime. What is loaded from then on goes to memory that is cheap
to fork, unless real modules are loaded: they may fork as well. Without them, `uuid` is loaded later
without the library of its own.
"""

from __future__ import annotations

import os
import signal
import sys

from caps.worker.inside.confinement import linux
from caps.worker.inside.zygote.arguments import requested_modules
from caps.worker.inside.zygote.forked_job import ForkedJob
from caps.worker.inside.zygote.sealed_memory import SealableMemory, begin_sealable


class FirstSteps:
    """What was begun, and must be completed. Not a dataclass: that would import `inspect`."""

    __slots__ = ("filter_job", "host", "memory")

    def __init__(self, host: int, filter_job: ForkedJob, memory: SealableMemory | None) -> None:
        self.host = host
        self.filter_job = filter_job
        self.memory = memory


def take_first_steps() -> FirstSteps:
    """Called once, in the process that the host has started."""
    host = os.getppid()
    linux.die_with_parent(signal.SIGKILL)
    _reset_signals()
    filter_job = ForkedJob(_build_filters)
    if requested_modules(sys.argv[1:]):
        return FirstSteps(host, filter_job, None)
    # With it, `uuid` would load a library for `uuid1`, which no worker has.
    sys.modules["_uuid"] = None  # type: ignore[assignment]
    return FirstSteps(host, filter_job, begin_sealable())


def _build_filters() -> bytes:
    """Runs in the child, which imports what it needs itself."""
    from caps.worker.inside.confinement.seccomp import build_filters

    return build_filters()


def _reset_signals() -> None:
    """Undo what this process inherited: a host may block signals, or ignore some of them.

    If SIGCHLD is ignored, the kernel reaps the children itself, and no exit status can be read.
    SIGXCPU tells that a worker used up its CPU time.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in (signal.SIGCHLD, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
