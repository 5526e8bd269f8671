"""From a fork to a serving worker: what a child does before it reads a byte of its channel."""

from __future__ import annotations

import os
from os import dup2
from typing import NamedTuple, NoReturn

from caps.protocol.zygote_messages import GROUP_REFUSED, OUT_OF_MEMORY
from caps.worker.inside.confinement import linux
from caps.worker.inside.confinement.layers import WorkerConfinement, confine_worker
from caps.worker.inside.runner.serve import CHANNEL, WorkerTemplate, serve_execution
from caps.worker.inside.zygote.fork_hooks import reseed


class WorkerSetup(NamedTuple):
    """What the zygote prepared for all of its children."""

    die_with_parent: linux.PreparedCall
    confinement: WorkerConfinement
    template: WorkerTemplate


def become_worker(setup: WorkerSetup, channel: int, group: int | None) -> NoReturn:
    """In the child: keep only the channel, confine itself, serve one execution, exit."""
    try:
        (call, arguments), confinement, template = setup
        if call(*arguments):
            os._exit(1)
        if group is not None:
            _join(group)
        dup2(channel, CHANNEL)
        reseed()
        confine_worker(confinement)
        serve_execution(template)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    finally:
        os._exit(1)


def _join(group: int) -> None:
    """Enter the memory group that the host created; without it this worker must not serve.

    A process that moves itself does not wait. Being moved by another process waits for all
    processors.
    """
    try:
        os.write(group, b"0")
    except OSError:
        os._exit(GROUP_REFUSED)
