"""List the local variables of the guard by `dir`."""

# stopped: raises TypeError
# because: `dir` needs an object here

dir()
escaped()
