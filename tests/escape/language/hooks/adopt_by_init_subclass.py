"""Have a library's class counted as its own by the hook of derived classes."""

# stopped: raises TypeError
# because: Hooks._checked_class.<locals>.init_subclass() takes 1 positional argument but 2 were given

class Base:
    def __init_subclass__(cls): pass

Base.__init_subclass__.__call__(type(secret))
if secret._hidden == "loot":
    escaped()
