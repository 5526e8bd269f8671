"""Say that a library's class is from the program itself."""

# stopped: refused
# because: `__module__` reaches into the interpreter

type(secret).__module__ = "__main__"
escaped()
