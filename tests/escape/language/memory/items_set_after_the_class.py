"""Give a class items after its statement, and free the object in the middle of its iteration."""

# stopped: harmless

class Items: ...
def item(self, at):
    if at == 1:
        held.clear()
        for _ in walk: pass
    if at > 3:
        raise IndexError
    return [at]
Items.__getitem__ = item
held = [Items()]
walk = iter(held[0])
try:
    list(walk)
except (ValueError, TypeError):
    pass
