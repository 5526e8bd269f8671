"""Empty a list by the items that are written to every second place."""

# stopped: lost or harmless or raises ValueError
# where: worker

def give():
    items.clear()
    yield from range(500)
items = list(range(1000))
items[::2] = give()
None
