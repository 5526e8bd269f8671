"""Evaluate text as code."""

# stopped: raises SyntaxError
# because: refused on line 1: `__import__` reaches into the interpreter

take(eval("__import__('os')"))
