"""Add an iterator to the list of a chain that was made of plain lists, and free it while it runs."""

# stopped: harmless

import itertools
def test(item):
    global armed
    if item == "stolen": escaped()
    if armed:
        armed = False
        parts.clear()
        list(items)
        kept.extend(iter(["stolen"]) for _ in range(50))
    return False
for _ in range(100):
    parts, kept, armed = [[1], [2]], [], True
    items = itertools.chain.from_iterable(parts)
    next(items)
    parts.append(filter(test, [1, 2, 3]))
    list(items)
None
