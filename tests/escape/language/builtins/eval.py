"""Evaluate text as code that names what no program may name."""

# stopped: raises SyntaxError
# because: `__import__` reaches into the interpreter

take(eval("__import__('os')"))
