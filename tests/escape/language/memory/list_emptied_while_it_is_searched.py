"""Empty a list while it is searched."""

# stopped: harmless

class C:
    def __eq__(self, other): items.clear(); return False
items = [C() for _ in range(1000)]
1 in items
items.index(1) if items else None
