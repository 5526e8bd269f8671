"""Read an attribute by a field inside the specification of another."""

# stopped: raises ValueError
# because: `0.__class__`: a format cannot read attributes; use an f-string

"{:{0.__class__}}".format(1)
escaped()
