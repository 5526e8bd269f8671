"""Get the objects that a library sorts."""

# stopped: harmless

import heapq, statistics
def key(value): take(value); return 0
heapq.nlargest(1, [secret], key=key)
sorted([secret], key=key)
max([secret], key=key)
statistics.quantiles([1, 2, 3], n=4)
None
