"""Write into the body of a class by its `locals`."""

# stopped: raises AttributeError
# because: 'C' object has no attribute 'x'

class C:
    locals()["__getattribute__"] = lambda self, name: escaped()
C().x
