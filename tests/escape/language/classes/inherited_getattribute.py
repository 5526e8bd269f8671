"""Call `__getattribute__` by `super()`."""

# stopped: refused
# because: reaches into the interpreter

super().__getattribute__('x')
