"""Change a list by the slice that is written."""

# stopped: harmless

class C:
    def __index__(self): items.clear(); return 50
items = list(range(100))
items[C():] = items
items[C():90:2] = [1] * 20 if items else []
None
