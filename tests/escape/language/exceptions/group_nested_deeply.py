"""Exhaust the stack by groups within groups."""

# stopped: raises RecursionError or harmless

error = ValueError()
for _ in range(100_000):
    error = ExceptionGroup("x", [error])
try:
    raise error
except* ValueError:
    pass
