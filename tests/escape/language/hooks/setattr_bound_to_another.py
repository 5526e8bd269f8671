"""Initialise a `super` again for a library's object between the check and the call."""

# stopped: raises AttributeError
# because: a `super` cannot be initialized again in the sandbox

class C: pass
mine = C()
bound = super(C, mine)
write = bound.__setattr__
super.__init__(bound, type(below), below)
write("_hidden", "mine")
mine._hidden != "mine"
