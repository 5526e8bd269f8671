"""Name the spec of the program."""

# stopped: refused
# because: reaches into the interpreter

take(__spec__)
