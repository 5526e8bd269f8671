"""The same by zips."""

# stopped: harmless
# where: worker

deep = iter([1])
for _ in range(200_000):
    deep = zip(deep)
next(deep)
None
