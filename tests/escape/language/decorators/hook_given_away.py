"""Get the function that checks a hook by the decorator beneath it."""

# stopped: raises AttributeError
# because: `type` has no private attributes

kept = []
def keep(function):
    kept.append(function)
    return function
class C:
    @keep
    def __set_name__(self, owner, name): return owner
kept[0](C(), type(secret), "x")._hidden
escaped()
