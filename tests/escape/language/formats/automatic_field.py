"""Read an attribute of a field that is numbered by itself."""

# stopped: raises ValueError
# because: `.real`: a format cannot read attributes; use an f-string

"{.real}".format(1)
escaped()
