"""Return an integer that is not one, or an index that never ends."""

# stopped: harmless

class C(int):
    def __index__(self): return self
    def __int__(self): return self
    def __hash__(self): return 1
[1, 2, 3][C(1)], range(C(5))[C(2)], bytes(C(3)), hash(C(1))
None
