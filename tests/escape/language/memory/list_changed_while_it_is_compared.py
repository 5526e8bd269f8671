"""Empty two lists while they are compared."""

# stopped: harmless

class C:
    def __eq__(self, other): one.clear(); other_list.clear(); return True
one, other_list = [C() for _ in range(100)], [C() for _ in range(100)]
one == other_list
one.count(C())
None
