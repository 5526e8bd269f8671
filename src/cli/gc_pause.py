"""Loading modules for a command: they stay until it ends, so nobody looks through them for garbage.

The collector would go over all that was loaded several times while more is loaded, and once more
when the interpreter ends. That is a tenth of what a short command takes.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Within this context nothing is collected; what is there at its end is left alone."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()


@contextmanager
def loaded() -> Iterator[None]:
    """The time of a command, after which the collector sees everything again.

    But not when the interpreter ends: all of its memory goes then, looked through or not.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    try:
        yield
    finally:
        gc.unfreeze()
