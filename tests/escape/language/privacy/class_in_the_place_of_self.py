"""Hand a library's class to a class method."""

# stopped: raises AttributeError
# because: type object 'C' has no attribute '_method'

class C:
    @classmethod
    def read(cls): return cls._method

C.read.__call__()
vars(C)["read"].__get__(None, type(secret))()
escaped()
