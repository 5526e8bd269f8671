"""The same through an iterator that reads from it."""

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
    iterator = map(str, items)
    list(iterator)
    [Items() for _ in range(50)]
    repr(items)
