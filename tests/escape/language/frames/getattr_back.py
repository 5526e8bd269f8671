"""Climb from a frame by a name made at run time."""

# stopped: raises AttributeError
# because: reaches into the interpreter

take(getattr(print, "f_" + "back"))
