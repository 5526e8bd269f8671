"""Initialise a `super` again for its own object between reading its method and the check."""

# stopped: raises AttributeError
# because: a `super` cannot be initialized again in the sandbox

class C: pass
bound = super(type(below), below)
write = bound.__setattr__
super.__init__(bound, C, C())
write("_hidden", "mine")
escaped()
