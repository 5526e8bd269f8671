"""Draw from iterators that are deeper than the stack."""

# stopped: harmless
# where: worker

items = iter([1])
for _ in range(500_000): items = map(abs, items)
next(items)
None
