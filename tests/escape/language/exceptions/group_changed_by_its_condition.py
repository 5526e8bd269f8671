"""Change a group while a handler of it is chosen."""

# stopped: raises TypeError
# because: `except*` handles plain exception groups only

group = ExceptionGroup("x", [ValueError()])
def kinds():
    group.split = lambda condition: 1
    return ValueError
try:
    raise group
except* kinds():
    escaped()
