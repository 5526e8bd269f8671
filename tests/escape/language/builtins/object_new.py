"""Make an instance past its initialiser."""

# stopped: raises TypeError
# because: makes instances of your own classes only
# where: worker

take(object.__new__(type(caps)))
