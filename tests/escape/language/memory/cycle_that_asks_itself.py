"""Have a cycle go on from inside its iterator."""

# stopped: raises ValueError
# because: generator already executing

import itertools
def test(item):
    if armed:
        [next(items) for _ in range(20)]
    return True
armed = False
items = itertools.cycle(filter(test, [1, 2, 3]))
next(items)
armed = True
[next(items) for _ in range(5)]
