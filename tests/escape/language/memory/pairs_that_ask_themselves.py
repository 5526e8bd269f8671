"""Ask for the next pair from inside the iterator of its items."""

# stopped: raises ValueError
# because: generator already executing

import itertools
def give(): yield next(pairs)
for _ in range(1000):
    pairs = itertools.pairwise(give())
    next(pairs)
