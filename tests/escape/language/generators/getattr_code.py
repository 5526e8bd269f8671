"""Read the code of a generator by a name made at run time."""

# stopped: raises AttributeError
# because: reaches into the interpreter

take(getattr((n for n in ()), "gi_" + "code"))
