"""Have a library's class counted as its own by telling a descriptor that it belongs there."""

# stopped: raises TypeError
# because: `Secret` is not a class of your own making

class Descriptor:
    def __set_name__(self, owner, name): pass

Descriptor().__set_name__(type(secret), "x")
if secret._hidden == "loot":
    escaped()
