"""A job that a forked child of the zygote does while the zygote continues; then the child exits.

A library stays in the process that loaded it and in all processes forked from it. Each of them pays
for its mappings and pages when it starts and when it exits. So work that is needed once, and whose
result is bytes, is done in a separate process.

Runs before any confinement, with the host's rights, and sees no untrusted input.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from caps.worker.inside.confinement import linux


class ForkedJob:
    """A child process that starts its work when this object is created."""

    def __init__(self, work: Callable[[], bytes]) -> None:
        self._answer, answer = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            _run(work, answer)
        os.close(answer)

    def outcome(self) -> bytes:
        """Wait for the bytes of the child. RuntimeError if it failed; it has printed the reason."""
        with open(self._answer, "rb") as answer:  # noqa: PTH123 - it has no path
            data = answer.read()
        _, status = os.waitpid(self._child, 0)
        if status:
            raise RuntimeError(f"a forked job of the zygote failed (status {status})")
        return data


def _run(work: Callable[[], bytes], answer: int) -> NoReturn:
    """Runs in the child."""
    try:
        linux.die_with_parent(signal.SIGKILL)
        with open(answer, "wb") as pipe:
            pipe.write(work())
        os._exit(0)
    except BaseException:  # noqa: BLE001 - there is no caller that could handle it
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)
