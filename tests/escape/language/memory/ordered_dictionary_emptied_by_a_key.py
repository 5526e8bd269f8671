"""Empty an ordered dictionary while a key of it is looked for."""

# stopped: harmless

from collections import OrderedDict
class Found:
    def __hash__(self): return 1
class Key:
    def __hash__(self): return 1
    def __eq__(self, other): items.clear(); return True
def delete(): del items[Key()]
for change in (delete, lambda: items.move_to_end(Key()), lambda: items.pop(Key())) * 50:
    items = OrderedDict({Found(): 1, 2: 2})
    try: change()
    except KeyError: pass
None
