"""Free the count of an item while it is raised."""

# stopped: harmless

from collections import Counter
class Count:
    def __add__(self, other): counts.clear(); [[] for _ in range(50)]; return NotImplemented
for _ in range(100):
    counts = Counter()
    counts["a"] = Count()
    try: counts.update("a")
    except TypeError: pass
None
