"""Have a string in a type evaluated by a function that inspects types."""

# stopped: harmless

import dataclasses, functools, typing

@dataclasses.dataclass
class C:
    a: typing.Optional["escaped()"]

dataclasses.fields(C)
typing.get_type_hints(C)
typing.get_args(typing.Optional["escaped()"])

@functools.singledispatch
def f(x): pass

try:
    @f.register
    def g(x: "escaped()"): pass
except TypeError:
    pass
None
