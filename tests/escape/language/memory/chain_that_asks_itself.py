"""Exhaust a chain from inside one of its iterators."""

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
    items = itertools.chain(filter(test, [1, 2, 3]), [4])
    list(items)
