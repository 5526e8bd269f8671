"""Free iterators that are deeper than the stack."""

# stopped: harmless
# where: worker

import itertools
items = iter([1])
for _ in range(500_000): items = filter(None, items)
del items
items = iter([1])
for _ in range(50_000): items = itertools.chain(items)
del items
None
