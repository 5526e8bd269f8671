"""Define what happens when a class is derived."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __init_subclass__(cls): pass
