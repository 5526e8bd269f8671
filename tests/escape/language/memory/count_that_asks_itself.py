"""Count on from inside the addition of a step."""

# stopped: raises ValueError
# because: generator already executing

import itertools
class Step:
    def __index__(self): return 1
    def __radd__(self, other):
        if Step.armed:
            Step.armed = False
            repr(next(numbers))
        return other + 1
for _ in range(100):
    Step.armed = True
    numbers = itertools.count(1 << 100, Step())
    next(numbers) + 1
