"""Read an attribute by a field two specifications down."""

# stopped: raises ValueError
# because: `0.real`: a format cannot read attributes; use an f-string

template = "{:{:{0.real}}}" + ""
template.format(1, 2, 3)
escaped()
