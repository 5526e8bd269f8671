"""The same by `popitem`."""

# stopped: raises AttributeError
# because: `__notes__` reaches into the interpreter

class E(Exception): pass

error = E()
error.add_note("kept")
attributes = vars(error)
dict.__setitem__(attributes, "__notes__", None)
attributes.popitem()
if not hasattr(error, "__notes__"):
    escaped()
