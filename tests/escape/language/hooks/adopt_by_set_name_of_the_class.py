"""The same with the method of the class."""

# stopped: raises TypeError
# because: `Secret` is not a class of your own making

class Descriptor:
    def __set_name__(self, owner, name): pass

Descriptor.__set_name__(Descriptor(), type(secret), "x")
if secret._hidden == "loot":
    escaped()
