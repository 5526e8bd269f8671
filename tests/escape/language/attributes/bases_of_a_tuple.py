"""Climb from a tuple to `object` and list every class from there."""

# stopped: refused
# because: reaches into the interpreter

take(().__class__.__bases__[0].__subclasses__())
