"""Read an attribute by `str.format`."""

# stopped: raises ValueError
# because: a format cannot read attributes

str.format('{0.real}', 1)
escaped()
