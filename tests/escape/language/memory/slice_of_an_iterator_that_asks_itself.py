"""Exhaust a slice of an iterator from inside that iterator."""

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
    items = itertools.islice(filter(test, [1, 2, 3]), 5)
    list(items)
