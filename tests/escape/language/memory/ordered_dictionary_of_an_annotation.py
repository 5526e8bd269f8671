"""The same with the type that `typing` calls."""

# stopped: harmless

import typing
class Found:
    def __hash__(self): return 1
class Key:
    def __hash__(self): return 1
    def __eq__(self, other): items.clear(); return True
for make in (typing.OrderedDict, typing.OrderedDict[object, int]) * 50:
    items = make({Found(): 1, 2: 2})
    try: items.move_to_end(Key())
    except KeyError: pass
None
