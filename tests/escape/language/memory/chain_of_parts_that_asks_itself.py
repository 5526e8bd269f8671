"""Exhaust a chain from inside the iterator of its parts."""

# stopped: raises ValueError
# because: generator already executing

import itertools
def test(item):
    global armed
    if armed:
        armed = False
        list(items)
        [filter(None, []) for _ in range(50)]
    return False
for _ in range(200):
    armed = True
    items = itertools.chain.from_iterable(filter(test, [[1], [2], [3]]))
    list(items)
