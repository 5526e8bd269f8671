"""Loading modules for a command: they stay until it ends, so nobody looks through them for garbage.

The collector would go over all that was loaded several times while more is loaded, and once more
when the interpreter ends. That is a tenth of what a short command takes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Within this context nothing is collected, and what is there at its end never is."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
