"""Change what is added up while it is."""

# stopped: harmless

class C:
    def __radd__(self, other): items.clear(); return 1
items = [C() for _ in range(100)]
sum(items)
None
