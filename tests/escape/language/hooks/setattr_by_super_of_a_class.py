"""Write an attribute of a class by a `super` that is bound to it."""

# stopped: raises AttributeError
# because: a `type` is not yours to change this way

class C: pass
super(C, C).__setattr__("__module__", "x")
escaped()
