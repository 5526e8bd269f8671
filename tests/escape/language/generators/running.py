"""Read whether a generator runs."""

# stopped: refused
# because: reaches into the interpreter

(n for n in ()).gi_running
