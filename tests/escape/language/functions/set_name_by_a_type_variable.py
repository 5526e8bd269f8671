"""Rename a function of ours by a library's method that sets `__name__`."""

# stopped: harmless

import contextlib
import typing

with contextlib.suppress(AttributeError, TypeError):
    typing.TypeVar.__init__(print, "renamed")
if print.__name__ == "renamed":
    escaped()
