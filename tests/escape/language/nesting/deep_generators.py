"""Delegate to generators that are deeper than the stack."""

# stopped: lost or raises RecursionError
# where: worker

def f(inner): yield from inner
g = iter([1])
for _ in range(200_000): g = f(g)
next(g)
escaped()
