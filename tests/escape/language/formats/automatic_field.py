"""Read an attribute of a field that is numbered by itself."""

# stopped: raises KeyError
# because: ''

"{.real}".format(1)
escaped()
