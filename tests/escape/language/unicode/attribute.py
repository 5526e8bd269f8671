"""Spell `__globals__` with a letter that is folded to another."""

# stopped: refused
# because: reaches into the interpreter

take((lambda: 0).__ｇlobals__)
