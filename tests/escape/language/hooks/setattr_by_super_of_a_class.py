"""Write an attribute of a class by a `super` that is bound to it."""

# stopped: raises AttributeError
# because: attributes of `type` cannot be changed from sandboxed code

class C: pass
super(C, C).__setattr__("__module__", "x")
escaped()
