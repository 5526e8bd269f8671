"""Pass variables by a deceptive `dict` subclass."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class Name(str):
    def isidentifier(self): return True
    def startswith(self, *prefixes): return False

class Lying(dict):
    def items(self): return [(Name("<own>"), lambda value, name: value), ("secret", secret)]

eval("secret._hidden", Lying())
escaped()
