"""Read a library's mangled name as it is."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

secret._Secret__deep
escaped()
