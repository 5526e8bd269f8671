"""Exhaust the stack by comparing deep tuples."""

# stopped: raises RecursionError or harmless
# where: worker

one, other = (), ()
for _ in range(100_000):
    one, other = (one,), (other,)
one == other
None
