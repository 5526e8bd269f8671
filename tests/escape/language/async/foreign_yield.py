"""Yield an object to the loop that the loop did not create."""

# stopped: raises RuntimeError
# because: a `int` cannot be awaited here

class A:
    def __await__(self): yield 42
await A()
escaped()
