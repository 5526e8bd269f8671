"""Bind a name of the interpreter by an expression."""

# stopped: raises SyntaxError
# because: `__builtins__` reaches into the interpreter

eval("[__builtins__ := 1 for _ in 'a']")
