"""Evaluate text as code by `typing.get_type_hints`."""

# stopped: harmless

import typing
class C:
    x: "escaped()"
def f(x: "escaped()"): pass
found = [typing.get_type_hints(C), typing.get_type_hints(f)]
if found != [{"x": "escaped()"}, {"x": "escaped()"}]:
    escaped()
