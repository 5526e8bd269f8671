"""Have a string in a type evaluated by a function that only inspects types."""

# stopped: harmless

import dataclasses, typing

@dataclasses.dataclass
class C:
    a: typing.Optional["escaped()"]

dataclasses.fields(C)
typing.get_args(typing.Optional["escaped()"])
None
