"""Empty a heap whose largest comes first while it is changed (from Python 3.14 on)."""

# stopped: harmless

import heapq
class C:
    def __lt__(self, other): items.clear(); return True
names = "heapify_max heappop_max heappush_max heappushpop_max heapreplace_max".split()
for name in names:
    for rest in ([], [C()]):
        items = [C() for _ in range(100)]
        try:
            getattr(heapq, name)(items, *rest)
        except (AttributeError, IndexError, RuntimeError, TypeError):
            pass
