"""Be told the class that one is put into."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __set_name__(self, o, n): pass
