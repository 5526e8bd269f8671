"""Make a class by the initialiser of `type`."""

# stopped: raises AttributeError
# because: cannot be initialized again in the sandbox

type.__init__(type, 'X', (), {})
escaped()
