"""Evaluate text as code by `typing.get_type_hints`."""

# stopped: harmless

import typing
def f(a: "escaped()"): pass
typing.get_type_hints(f, {"escaped": escaped}, {"escaped": escaped})["a"] != "escaped()"
