"""Empty a list while it is sorted."""

# stopped: harmless

class C:
    def __lt__(self, other): items.clear(); return True
items = [C() for _ in range(100)]
items.sort()
