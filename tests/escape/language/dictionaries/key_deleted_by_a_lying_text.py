"""The same by deleting the item."""

# stopped: raises TypeError
# because: attribute name must be a string

class Name(str): pass

class C: pass
c = C()
c.a = 1
del vars(c)[Name("a")]
escaped()
