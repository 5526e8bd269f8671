"""Write an operation into the variables of a class body, where only a statement may define it."""

# stopped: raises AttributeError
# because: is defined by a statement in the body of a class

class C(str):
    locals()["__len__"] = lambda self: 1 << 40
escaped()
