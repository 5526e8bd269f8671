"""Write a name with a mark that folding joins or drops."""

# stopped: raises AttributeError
# because: `__globals‍__` reaches into the interpreter

take(getattr(lambda: 0, "__globals\u200d__"))
