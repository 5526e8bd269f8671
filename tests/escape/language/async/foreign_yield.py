"""Yield to the loop what it did not make."""

# stopped: raises RuntimeError
# because: a `int` cannot be awaited here

class A:
    def __await__(self): yield 42
await A()
escaped()
