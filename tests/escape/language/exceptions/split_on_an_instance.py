"""Corrupt memory by a `split` that is put on the group."""

# stopped: raises TypeError
# because: plain exception groups only

g = ExceptionGroup("g", [ValueError()])
g.split = lambda kind: 5.5
try:
    raise g
except* ValueError:
    escaped()
