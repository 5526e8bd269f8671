"""Write any key into the annotations of the program."""

# stopped: refused
# because: reaches into the interpreter

x: int = 1
__annotations__['a b'] = int
escaped()
