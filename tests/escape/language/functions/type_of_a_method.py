"""Make a method of anything."""

# stopped: raises TypeError
# because: cannot be made

class C:
    def f(self): pass
type(C().f)(print, 1)
