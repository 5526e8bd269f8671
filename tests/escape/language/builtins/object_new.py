"""Make an instance past its initialiser."""

# stopped: refused
# because: reaches into the interpreter
# where: worker

take(object.__new__(type(caps)))
