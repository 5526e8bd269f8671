"""Add an iterator to the list of a chain that was made of plain lists."""

# stopped: harmless

import itertools
def test(item):
    list(items)
    [filter(None, []) for _ in range(50)]
    return False
for _ in range(200):
    parts = [[1], [2]]
    items = itertools.chain.from_iterable(parts)
    next(items)
    parts.append(filter(test, [1, 2, 3]))
    list(items)
None
