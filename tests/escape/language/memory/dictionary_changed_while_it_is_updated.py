"""Change the other dictionary while one is updated from it."""

# stopped: raises RuntimeError
# because: dict mutated during update

class C:
    def __hash__(self): return 1
    def __eq__(self, other): two.clear(); return False
one, two = {C(): 1}, {C(): 2, C(): 3} if False else {}
two[C()] = 1
one.update(two)
None
