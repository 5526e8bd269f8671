"""Exhaust the stack by generators that ask each other."""

# stopped: raises RecursionError or harmless
# where: worker

def again(inner):
    yield from inner
deep = iter([1])
for _ in range(100_000):
    deep = again(deep)
next(deep)
None
