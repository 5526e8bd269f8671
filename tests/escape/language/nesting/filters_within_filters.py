"""The same by filters."""

# stopped: harmless
# where: worker

deep = iter([1])
for _ in range(200_000):
    deep = filter(None, deep)
next(deep)
None
