"""Read the attributes of a library's object by `vars`."""

# stopped: raises AttributeError
# because: has no private attributes

vars(secret)
escaped()
