"""(4) Environment variables that packages read when they are loaded, set only for that time."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Threads do not survive a fork, and a worker cannot start one.
_ONE_THREAD = (
    "BLIS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
)
_SETTINGS = {
    **dict.fromkeys(_ONE_THREAD, "1"),
    # Allocators that free memory in a thread of their own: jemalloc, of pyarrow and of Rust.
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "_RJEM_MALLOC_CONF": "background_thread:false",
    # The others map a gigabyte at once, and `memory_mb` counts what is mapped.
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    # There is no display; figures are drawn in memory.
    "MPLBACKEND": "agg",
}


@contextmanager
def package_settings() -> Iterator[None]:
    """No threads, no warnings and no files in the home directory; restored afterwards."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="caps-") as scratch:
        # matplotlib writes a list of fonts there. HOME and others are unset here anyway.
        os.environ.update(_SETTINGS | {"MPLCONFIGDIR": scratch})
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield
        finally:
            os.environ.clear()
            os.environ.update(before)
