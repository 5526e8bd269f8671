"""List the local variables of the guard by `dir`."""

# stopped: raises TypeError
# because: missing 1 required positional argument

dir()
escaped()
