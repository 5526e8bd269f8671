"""Choose the dictionary of a class body."""

# stopped: refused
# because: `__prepare__` reaches into the interpreter

class C:
    @classmethod
    def __prepare__(cls, name, bases): return {}
