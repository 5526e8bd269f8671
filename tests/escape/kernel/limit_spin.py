"""Compute for ever. RLIMIT_CPU ends it."""

# stopped: limited

while True:
    pass
