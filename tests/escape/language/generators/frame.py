"""Read the frame of a generator."""

# stopped: refused
# because: reaches into the interpreter

take((n for n in ()).gi_frame)
