"""Have a lambda bind the name that its method has checked."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        return (lambda self: self._hidden)(secret)

C().read()
escaped()
