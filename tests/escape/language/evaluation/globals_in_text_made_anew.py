"""Make an object of the kind that `globals` gives, or derive from it, and pass it as variables."""

# stopped: raises TypeError or raises AttributeError
# because: cannot be a base class here
# because: belongs to the library
# because: '_real'

kind = type(eval("globals()", globals={}))
try:
    empty = kind()
    empty["__builtins__"] = {"escaped": escaped}
    escaped()
except AttributeError:
    pass

class Mine(kind):
    def refresh(self): escaped()
    def items(self): return [("__builtins__", {"escaped": escaped})]

exec("x = 1", Mine())
