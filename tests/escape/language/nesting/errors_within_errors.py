"""Exhaust the stack by a long chain of errors that is let go of."""

# stopped: harmless
# where: worker

error = None
for _ in range(300_000):
    new = ValueError()
    new.__cause__ = error
    error = new
del error, new
None
