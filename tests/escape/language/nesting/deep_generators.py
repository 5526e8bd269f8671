"""Delegate to generators that are deeper than the stack."""

# stopped: raises RecursionError or harmless
# where: worker

def f(inner): yield from inner
g = iter([1])
for _ in range(100_000): g = f(g)
next(g)
None
