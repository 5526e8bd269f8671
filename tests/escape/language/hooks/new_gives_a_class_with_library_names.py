"""Have a copy write into an object of its own whose name belongs to its library."""

# stopped: raises TypeError
# because: `__new__` of `Mine` cannot give a `Seeded`

import copy, random

class Seeded(random.Random): pass

class Mine:
    def __new__(cls):
        return Seeded() if ready else super().__new__(cls)

ready = False
mine = Mine()
mine._randbelow = lambda n: escaped()
ready = True
copy.copy(mine).choice([1])
