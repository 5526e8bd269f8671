"""Read the local variables of the guard by `vars`."""

# stopped: raises TypeError
# because: missing 1 required positional argument

take(vars())
