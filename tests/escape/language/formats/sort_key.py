"""Read an attribute by a format in the hands of `sorted`."""

# stopped: raises ValueError
# because: a format cannot read attributes

sorted(["{0.real}"], key="{0.real}".format)
escaped()
