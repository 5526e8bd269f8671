"""Change the program's builtins by what `globals` gives."""

# stopped: raises AttributeError
# because: '__import__' cannot be the name of a variable here

try:
    globals()["__builtins__"] = {"escaped": escaped}
except AttributeError:
    import math
globals()["__import__"] = escaped
