"""Read a variable of a library by copying an alias that has its name."""

# stopped: harmless

import copy, typing

Alias = type(typing.List[int])
for name in ("eval", "getattr", "type"):
    alias = Alias(int, (name,), name="__builtins__")
    take([copy.copy(alias), copy.deepcopy(alias)])
