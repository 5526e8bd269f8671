"""Read the code of a generator."""

# stopped: refused
# because: reaches into the interpreter

take((n for n in ()).gi_code)
