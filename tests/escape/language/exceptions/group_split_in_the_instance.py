"""Put a `split` into the group itself."""

# stopped: raises TypeError
# because: `except*` handles plain exception groups only

group = ExceptionGroup("x", [ValueError()])
group.split = lambda condition: 1
try:
    raise group
except* ValueError:
    escaped()
