"""Name the loader of the program."""

# stopped: refused
# because: reaches into the interpreter

take(__loader__)
