"""Use the class of a derived class that is not finished."""

# stopped: raises TypeError
# because: `type` takes one argument; write a class statement to make a class

class C:
    def __init_subclass__(cls): type(cls)("X", (), {})
class D(C): pass
escaped()
