"""Read an attribute behind a conversion."""

# stopped: raises ValueError
# because: a format cannot read attributes

"{0!r:{0.real}}".format(1)
escaped()
