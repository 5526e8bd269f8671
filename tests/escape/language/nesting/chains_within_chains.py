"""The same by chains, each of which holds the next."""

# stopped: raises RecursionError or limited
# where: worker

import itertools
deep = iter([1])
for _ in range(200_000):
    deep = itertools.islice(deep, 1)
next(deep)
