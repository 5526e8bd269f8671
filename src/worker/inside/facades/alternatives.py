"""(4) The granted functions, as hints name them: what to use instead of what is not there.

A hint names only what the code can call, or what every runtime has. Set when the functions are
granted; nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Iterable

# The domains and functions that code can call, each with the namespace before it.
_granted: dict[str, str] = {}


def remember_granted(namespace: str, names: Iterable[str]) -> None:
    """From now on, these functions are granted."""
    _granted.clear()
    for name in names:
        for part in (name.partition(".")[0], name):
            _granted[part] = f"{namespace}.{part}"


def granted_name(name: str) -> str | None:
    """How code writes this domain or function; None if it is not granted."""
    return _granted.get(name)


def namespace() -> str:
    """The name under which code has what is granted."""
    return next(iter(_granted.values()), "caps").partition(".")[0]


def use_instead(function: str, arguments: str = "") -> str:
    """The advice to use `function`; empty if it is not granted and may not exist."""
    granted = _granted.get(function)
    if granted is not None:
        call = f"await {granted}({arguments})" if arguments else granted
        return f"use `{call}` instead"
    if function.startswith("files."):  # it is built in; others may not be registered at all
        return f"a policy may grant `caps.{function}` instead"
    return ""
