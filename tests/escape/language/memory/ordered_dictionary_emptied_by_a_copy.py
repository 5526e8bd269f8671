"""Empty an ordered dictionary while it is copied."""

# stopped: harmless

from collections import OrderedDict
class Emptied(OrderedDict):
    def __getitem__(self, key): self.clear()
class Key:
    def __hash__(self): return 1
    def __eq__(self, other): items.clear(); return False
for _ in range(100):
    Emptied((n, n) for n in range(40)).copy()
    items = OrderedDict()
    dict.update(items, {Key(): 1})
    items[Key()] = 2
    items.copy()
None
