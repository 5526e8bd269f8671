"""Make a library's class count as its own by a class decorator."""

# stopped: raises AttributeError
# because: has no private attributes

def other(cls): return type(secret)
@other
class Mine: pass
Mine()._hidden
escaped()
