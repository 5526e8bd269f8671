"""The same in the middle of a class statement of its own."""

# stopped: raises AttributeError
# because: `Below` has no private attributes

class Other:
    def __set_name__(self, owner, name): pass

class Descriptor:
    def __set_name__(self, owner, name): Other().__set_name__(type(below), name)

try:
    class C:
        x = Descriptor()
except Exception:
    pass
if below._method:
    escaped()
