"""Bind a method of its own class to a library's object."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self): return self._hidden

C.read.__get__(secret)()
escaped()
