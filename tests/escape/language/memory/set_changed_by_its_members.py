"""Change a set while it is joined with another."""

# stopped: harmless

class C:
    def __hash__(self): return 1
    def __eq__(self, other): one.clear(); two.clear(); return False
one, two = set(), set()
one.add(C()); two.add(C())
one & two, one | two, one - two, one ^ two, one <= two
one.update(two)
None
