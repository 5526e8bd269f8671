"""Derive from an object that is equal to whatever it is compared with."""

# stopped: raises TypeError
# because: a base must be a class

class Form:
    def __eq__(self, other): take(other); return True
    def __hash__(self): return 1

class C(Form()): pass
