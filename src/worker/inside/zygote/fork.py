"""From a fork to a worker that serves: what a child does before it reads a byte of its channel."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import NoReturn

from caps.protocol.zygote_messages import GROUP_REFUSED
from caps.worker.inside.confinement.layers import linux as kernel
from caps.worker.inside.confinement.layers import WorkerConfinement, confine_worker
from caps.worker.inside.runner.serve import CHANNEL, Birthright, serve_execution


@dataclass(frozen=True, slots=True)
class Upbringing:
    """What the zygote prepared for all of its children."""

    confinement: WorkerConfinement
    born_with: Birthright


def become_worker(upbringing: Upbringing, channel: int, group: int | None) -> NoReturn:
    """In the child: keep the channel alone, lock down, serve one execution, end."""
    try:
        kernel.die_with_parent(signal.SIGKILL)
        if group is not None:
            _join(group)
        os.dup2(channel, CHANNEL)
        os.set_blocking(CHANNEL, False)
        confine_worker(upbringing.confinement, CHANNEL)
        serve_execution(upbringing.born_with)
    finally:
        os._exit(1)


def _join(group: int) -> None:
    """Enter the memory group that the host made; without it this worker is not to serve.

    A process that moves itself does so at once. Being moved by another waits for all processors.
    """
    try:
        os.write(group, b"0")
    except OSError:
        os._exit(GROUP_REFUSED)
