"""Exhaust the iterator of a sequence from inside it, so that the sequence is freed twice."""

# stopped: raises ValueError
# because: generator already executing

class Items:
    def __getitem__(self, position):
        global armed
        if armed:
            armed = False
            list(iterator)
        raise IndexError
for _ in range(200):
    armed = True
    items = Items()
    iterator = iter(items)
    list(iterator)
    [Items() for _ in range(50)]
    repr(items)
