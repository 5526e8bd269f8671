"""Await what gives no iterator."""

# stopped: raises TypeError
# because: returned non-iterator

class A:
    def __await__(self): return 1
await A()
escaped()
