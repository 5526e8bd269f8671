"""Work that a child of the zygote does for it and ends with, while the zygote goes on.

A library stays in the process that loaded it and in all that are forked from there, and each of
them pays for its mappings and pages when it begins and when it ends. So what is needed once, for
bytes that can be handed over, is done apart.

Runs before any confinement, with the host's rights, and sees no untrusted input.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn


class Errand:
    """A child that is at work from the moment this is made."""

    def __init__(self, work: Callable[[], bytes]) -> None:
        self._answer, answer = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            _run(work, answer)
        os.close(answer)

    def outcome(self) -> bytes:
        """What the child made, waited for; a RuntimeError if it failed, which it has told."""
        with open(self._answer, "rb") as answer:  # noqa: PTH123 - it has no path
            made = answer.read()
        _, status = os.waitpid(self._child, 0)
        if status:
            raise RuntimeError(f"an errand of the zygote failed (status {status})")
        return made


def _run(work: Callable[[], bytes], answer: int) -> NoReturn:
    """In the child."""
    try:
        with open(answer, "wb") as pipe:
            pipe.write(work())
        os._exit(0)
    except BaseException:  # noqa: BLE001 - there is nobody above who could take it
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(1)
