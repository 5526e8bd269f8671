"""Have C types interrupted while they call user code in the middle of a change, and use them."""

# stopped: limited
# where: worker

import bisect
import collections
import functools
import heapq

class Slow:
    def __init__(self, n, waits):
        self.n, self.waits = n, waits

    def _ask(self):
        if self.waits:
            self.waits = False
            while True:
                n = 1

    def __lt__(self, other):
        self._ask()
        return self.n < other.n

    def __eq__(self, other):
        self._ask()
        return self.n == other.n

    def __hash__(self):
        return 1

def items():
    return [Slow(n, n == 5) for n in range(10, 0, -1)]

def key_of(item):
    item._ask()
    return item.n

kept = items()
table = collections.OrderedDict()
names = {}
heap = []
queue = collections.deque(items(), maxlen=10)
cached = functools.lru_cache(maxsize=2)(key_of)

def tries():
    yield lambda: kept.sort()
    yield lambda: [table.setdefault(item, item) for item in items()]
    yield lambda: [names.update({item: item}) for item in items()]
    yield lambda: [heapq.heappush(heap, item) for item in items()]
    yield lambda: queue.remove(Slow(-1, False))
    yield lambda: [cached(item) for item in items()]
    yield lambda: bisect.insort(kept, Slow(3, True))
    yield lambda: sorted(items(), key=key_of)

for one in tries():
    try:
        one()
    except BaseException:
        pass
    # Whatever they hold now, it is the user's own.
    for held in (kept, list(table), list(names), heap, list(queue)):
        if not all(type(item) is Slow for item in held):
            escaped()
