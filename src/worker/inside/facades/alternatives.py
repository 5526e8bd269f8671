"""(4) The granted functions, as hints name them: what to use instead of what is not there.

A hint names only what the code can call, or what every runtime has. Set when the functions are
granted; nothing is decided by it.
"""

from __future__ import annotations

from collections.abc import Iterable

# What was granted, until the first hint needs it: most code gets none.
_latest: tuple[str, Iterable[str]] | None = None
# The domains and functions that code can call, each with the namespace before it.
_granted: dict[str, str] = {}


def remember_granted(namespace: str, names: Iterable[str]) -> None:
    """From now on, these functions are granted. `names` are read once, when a hint needs them."""
    global _latest  # noqa: PLW0603 - one grant, one process
    _latest = namespace, names


def granted_name(name: str) -> str | None:
    """How code writes this domain or function; None if it is not granted."""
    return _known().get(name)


def namespace() -> str:
    """The name under which code has what is granted."""
    return next(iter(_known().values()), "caps").partition(".")[0]


def use_instead(function: str, arguments: str = "") -> str:
    """The advice to use `function`; empty if it is not granted and may not exist."""
    granted = _known().get(function)
    if granted is not None:
        call = f"await {granted}({arguments})" if arguments else granted
        return f"use `{call}` instead"
    if function.startswith("files."):  # it is built in; others may not be registered at all
        return f"a policy may grant `caps.{function}` instead"
    return ""


def _known() -> dict[str, str]:
    global _latest
    if _latest is not None:
        (namespace, names), _latest = _latest, None
        _granted.clear()
        for name in names:
            for part in (name.partition(".")[0], name):
                _granted[part] = f"{namespace}.{part}"
    return _granted
