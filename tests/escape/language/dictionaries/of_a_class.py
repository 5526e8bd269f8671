"""Write into a class by its dictionary."""

# stopped: raises AttributeError
# because: 'C' object has no attribute 'x'

class C: pass
C.__dict__["__getattribute__"] = lambda self, name: escaped()
C().x
