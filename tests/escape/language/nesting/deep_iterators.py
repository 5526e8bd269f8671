"""Draw from iterators that are deeper than the stack."""

# stopped: lost or raises RecursionError
# where: worker

items = iter([1])
for _ in range(500_000): items = map(abs, items)
next(items)
escaped()
