"""Run code that is the key of a typed dictionary and becomes a field."""

# stopped: raises ValueError
# because: cannot be the name of a field

from dataclasses import dataclass, field
from typing import TypedDict
N = "x, *, y=(_ for _ in ()).throw(Exception(eval, __import__))"
class D(TypedDict("T", {N: int})): pass
setattr(D, N, field(init=False, repr=False, compare=False))
try:
    dataclass(D)
except ValueError:
    raise
except Exception as error:
    take(error.args)
