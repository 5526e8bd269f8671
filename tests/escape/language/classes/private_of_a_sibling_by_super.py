"""Call a private method of a sibling by `super()`."""

# stopped: raises AttributeError
# because: belongs to the library

class A:
    def look(self): return super()._method()
class B(A, type(secret)): pass
B().look()
escaped()
