"""The same by enumerations."""

# stopped: harmless
# where: worker

deep = iter([1])
for _ in range(200_000):
    deep = enumerate(deep)
next(deep)
None
