"""Sum on from inside an addition."""

# stopped: raises ValueError
# because: generator already executing

import itertools
class First:
    def __add__(self, other):
        if First.armed:
            First.armed = False
            next(sums), next(sums)
            [First() for _ in range(50)]
        return NotImplemented
class Other:
    def __radd__(self, other): return type(other)()
for _ in range(200):
    First.armed = False
    sums = itertools.accumulate([First(), *[Other() for _ in range(20)]])
    next(sums)
    First.armed = True
    next(sums)
