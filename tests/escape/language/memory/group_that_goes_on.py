"""Have a group go on while its key is compared."""

# stopped: raises ValueError
# because: generator already executing

import itertools
class Key:
    def __eq__(self, other):
        if Key.armed:
            Key.armed = False
            next(group, None)
            [Key() for _ in range(50)]
            return NotImplemented
        return True
for _ in range(100):
    Key.armed = False
    groups = itertools.groupby(range(10), lambda number: Key())
    group = next(groups)[1]
    Key.armed = True
    list(group)
