"""Have a private name of a function be that of another object."""

# stopped: raises AttributeError
# because: `function` has no private attributes

def f(): pass
f._hidden = 1
class C:
    def read(self): return self._hidden
C.read(f)
C.read(print)
escaped()
