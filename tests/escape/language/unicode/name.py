"""Spell `__builtins__` with a letter that is folded to another."""

# stopped: refused
# because: reaches into the interpreter

take(__ｂuiltins__)
