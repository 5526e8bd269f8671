"""Read the attributes of a library's object by `vars`."""

# stopped: raises TypeError
# because: vars() needs an object of your own: a `Secret` does not show its `__dict__`

vars(secret)
escaped()
