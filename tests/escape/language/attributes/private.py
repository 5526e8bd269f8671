"""Read a private attribute of a library's object."""

# stopped: raises AttributeError
# because: has no private attributes

secret._hidden
escaped()
