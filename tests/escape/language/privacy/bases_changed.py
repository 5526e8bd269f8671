"""Change the bases of a class after it was checked."""

# stopped: refused
# because: `__bases__` reaches into the interpreter

class A: pass
class B(A): pass
B.__bases__ = (type(below),)
escaped()
