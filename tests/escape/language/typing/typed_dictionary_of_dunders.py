"""Have the keys of a typed dictionary become attributes."""

# stopped: refused
# because: `__deepcopy__` reaches into the interpreter

from typing import TypedDict
T = TypedDict("T", {"__deepcopy__": int, "__getattr__": int})
take(getattr(T(__deepcopy__=1), "__deepcopy__", None))
T.__getattr__
escaped()
