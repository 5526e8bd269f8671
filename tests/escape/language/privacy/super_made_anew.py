"""Pass the check of a method with a `super`, and initialise that again for a library's object."""

# stopped: raises AttributeError
# because: a `super` has no private attributes here

class C:
    def read(self):
        super.__init__(self, type(below), below)
        return self._method

C.read(super(C, C()))
escaped()
