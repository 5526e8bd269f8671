"""Read the real dictionary by the slot of its class."""

# stopped: raises AttributeError
# because: `type` has no private attributes

class C: pass
names = C().__dict__
take(type(names)._real)
escaped()
