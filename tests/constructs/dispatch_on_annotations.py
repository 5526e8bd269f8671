# `singledispatch` by annotations that are unions or text
from __future__ import annotations

import functools
from typing import Union


@functools.singledispatch
def kind(value):
    return "other"


@kind.register
def _(value: int | float):
    return "number"


@kind.register
def _(value: Union[list, tuple]):
    return "sequence"


class Formatter:
    @functools.singledispatchmethod
    def show(self, value):
        """Show a value."""
        return repr(value)

    @show.register
    def _(self, value: str):
        return value


assert [kind(one) for one in (1, 2.5, [], {})] == ["number", "number", "sequence", "other"]
assert Formatter().show("a") == "a" and Formatter().show(1) == "1"
assert Formatter().show.__name__ == "show" and Formatter().show.__doc__ == "Show a value."
