"""Sort by keys whose comparisons change."""

# stopped: harmless

class A:
    def __lt__(self, other): A.__eq__; return True
class B(A): pass
items = [A() for _ in range(50)]
items.sort(key=lambda one: B() if len(items) else one)
None
