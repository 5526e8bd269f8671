"""Read what a library's base class stores in an object of its own."""

# stopped: raises AttributeError
# because: `_method` belongs to the library, not to this object

class Mine(type(below)): pass
mine = Mine()
mine.__dict__["_method"] = 1
