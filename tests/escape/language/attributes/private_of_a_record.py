"""Read a private attribute of a record."""

# stopped: raises AttributeError
# because: has no private attributes

record._read_only
escaped()
