"""The version of the installed package, for records, metrics, spans and exports."""

from __future__ import annotations

import functools


@functools.cache
def package_version() -> str:
    """The installed version; `unknown` if Caps runs without being installed."""
    # Imported here: it takes longer than the look-up, and few programs need it.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("caps-runtime")
    except PackageNotFoundError:
        return "unknown"
