"""(4) Checks of the values that engines get from user space."""

from __future__ import annotations

from typing import Any


def plain_text(value: Any) -> str:
    """`value` as a plain string. Raises TypeError for anything but text."""
    if not isinstance(value, str):
        raise TypeError(f"text was due, not a `{type(value).__name__}`")
    return str.__str__(value)


def refuse_second_init(value: Any, attribute: str) -> None:
    """Raise TypeError if `value`, which has `attribute`, is being initialized again: code that
    runs in the middle of its work could change it."""
    if hasattr(value, attribute):
        raise TypeError(f"a `{type(value).__name__}` cannot be initialized again")
