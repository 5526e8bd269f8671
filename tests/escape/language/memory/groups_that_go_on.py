"""Have the groups go on while the key of one is compared."""

# stopped: harmless

import itertools
class Key:
    def __eq__(self, other):
        if Key.armed:
            Key.armed = False
            next(groups, None)
            [Key() for _ in range(50)]
        return NotImplemented
for _ in range(100):
    Key.armed = False
    groups = itertools.groupby(range(10), lambda number: Key())
    group = next(groups)[1]
    Key.armed = True
    list(group)
    Key.armed = True
    list(groups)
None
