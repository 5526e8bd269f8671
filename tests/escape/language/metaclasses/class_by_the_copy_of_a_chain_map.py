"""Make a class with any methods by a library's method that calls the class of a class."""

# stopped: raises TypeError
# because: a `ChainMap` was due, not a `type`

import collections

class Name:
    def copy(self):
        return "Made"

class C:
    maps = [Name(), (), {"__getattribute__": lambda self, name: name}]

made = collections.ChainMap.copy(C)
if made().__name__ == "__name__":
    escaped()
