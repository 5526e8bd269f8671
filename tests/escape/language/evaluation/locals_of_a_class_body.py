"""Write into the body of a class by its `locals`."""

# stopped: raises AttributeError
# because: cannot be the name of a variable here

class C:
    locals()["__getattribute__"] = lambda self, name: escaped()
C().x
