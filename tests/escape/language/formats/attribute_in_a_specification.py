"""Read an attribute by the specification within a format."""

# stopped: raises ValueError
# because: a format cannot read attributes

'{0:{1.real}}'.format(1, 2)
escaped()
