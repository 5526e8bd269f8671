"""Make a class by the initialiser of `type`."""

# stopped: raises TypeError
# because: takes exactly one argument

type.__init__(type, 'X', (), {})
escaped()
