"""The release of Caps, as metrics and spans tell it."""

from __future__ import annotations

import functools


@functools.cache
def release() -> str:
    """`unknown` where Caps runs without having been installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("caps-runtime")
    except PackageNotFoundError:
        return "unknown"
