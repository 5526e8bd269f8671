"""Exhaust the stack by comparing types within types."""

# stopped: harmless
# where: worker

one, other = int, int
for _ in range(100_000):
    one, other = list[one], list[other]
del one, other
None
