"""Read an attribute of a named field."""

# stopped: raises ValueError
# because: a format cannot read attributes

"{a.real.imag}".format(a=1)
escaped()
