"""Keeps the garbage collector away from modules: they stay loaded until the command ends.

The collector would scan all that is loaded several times during the imports, and once more when the
interpreter ends. That is a tenth of the time of a short command.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Collect nothing in this context; objects that exist at its end are never scanned."""
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
    """The time of a command; after it, the collector scans everything again.

    Except when the interpreter ends: all of its memory is freed then anyway.
    """
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    try:
        yield
    finally:
        gc.unfreeze()
