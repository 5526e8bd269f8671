"""Compute for ever. RLIMIT_CPU ends it."""

# stopped: limited
# alone: none

while True:
    pass
