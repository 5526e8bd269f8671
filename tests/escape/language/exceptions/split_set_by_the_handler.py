"""Corrupt memory by a `split` that the handler's type puts on the group."""

# stopped: raises TypeError
# because: plain exception groups only

g = ExceptionGroup("g", [ValueError()])
def kind():
    g.split = lambda kind: 5.5
    return ValueError
try:
    raise g
except* kind():
    escaped()
