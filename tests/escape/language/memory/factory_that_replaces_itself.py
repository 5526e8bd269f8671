"""Free the factory of a dictionary, and the list that it sorts, while it runs."""

# stopped: harmless

import collections, typing
class Item:
    def __lt__(self, other):
        made.default_factory = None
        kept.extend([] for _ in range(50))
        return False
for make in (collections.defaultdict, typing.DefaultDict) * 20:
    kept = []
    made = make([Item(), Item()].sort)
    made[1]
    if any(kept): escaped()
None
