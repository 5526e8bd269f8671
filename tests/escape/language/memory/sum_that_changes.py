"""Change the operands of `sum` while it runs."""

# stopped: harmless

class C:
    def __radd__(self, other): items.clear(); return 1
items = [C() for _ in range(100)]
sum(items)
None
