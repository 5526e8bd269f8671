"""Bind the hook of derived classes to a library's class."""

# stopped: raises AttributeError
# because: `__get__` can be called of your own classes only

def hook(cls): pass

class Base:
    def __init_subclass__(cls): pass

take(Base.__init_subclass__.__get__(None, type(secret))())
if secret._hidden == "loot":
    escaped()
