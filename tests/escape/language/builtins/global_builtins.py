"""Declare the builtins global and replace them."""

# stopped: refused
# because: reaches into the interpreter

def f():
    global __builtins__
    __builtins__ = {}
