"""Read an attribute by the format of a string behind an alias."""

# stopped: raises ValueError
# because: a format cannot read attributes

type(list[int])('{0.real}', ()).format(1)
escaped()
