"""Write the annotations of a class."""

# stopped: refused
# because: reaches into the interpreter

class C:
    __annotations__ = {"a b": int}
