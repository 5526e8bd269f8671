"""Define what counts as a subclass."""

# stopped: refused
# because: reaches into the interpreter

class C:
    __subclasshook__ = print
