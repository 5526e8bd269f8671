"""Empty a dictionary while it is compared."""

# stopped: harmless

class C:
    def __eq__(self, other): one.clear(); two.clear(); return True
    def __hash__(self): return 1
one = {n: C() for n in range(100)}
two = {n: C() for n in range(100)}
one == two
None
