"""Read what a generator waits for."""

# stopped: refused
# because: reaches into the interpreter

take((n for n in ()).gi_yieldfrom)
