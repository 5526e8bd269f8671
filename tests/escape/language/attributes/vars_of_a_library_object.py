"""Read the attributes of a library's object by `vars`."""

# stopped: raises AttributeError
# because: a `Secret` does not show its `__dict__`

vars(secret)
escaped()
