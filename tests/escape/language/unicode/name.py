"""Write `__builtins__` with a letter that Unicode folds to another."""

# stopped: refused
# because: reaches into the interpreter

take(__ｂuiltins__)
