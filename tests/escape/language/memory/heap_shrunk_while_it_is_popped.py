"""Shrink a heap while its smallest is taken."""

# stopped: raises RuntimeError
# because: list changed size during iteration

import heapq
class C:
    def __lt__(self, other): items.clear(); return True
items = [C() for _ in range(100)]
heapq.heappop(items)
