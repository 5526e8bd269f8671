"""Exhaust the stack by comparing deep tuples."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

one, other = (), ()
for _ in range(100_000):
    one, other = (one,), (other,)
one == other
