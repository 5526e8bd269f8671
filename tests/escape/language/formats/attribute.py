"""Read an attribute by a format."""

# stopped: raises ValueError
# because: a format cannot read attributes

'{0.real}'.format(1)
escaped()
