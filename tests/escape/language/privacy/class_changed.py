"""Change the class of an object after it was checked."""

# stopped: refused
# because: `__class__` reaches into the interpreter

class A:
    def read(self):
        self.__class__ = type(secret)
        return self._hidden
A().read()
escaped()
