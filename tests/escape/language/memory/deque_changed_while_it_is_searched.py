"""Empty a deque while it is searched."""

# stopped: raises RuntimeError
# because: deque mutated during iteration

from collections import deque
class C:
    def __eq__(self, other): items.clear(); return False
items = deque([C() for _ in range(1000)])
items.count(1)
