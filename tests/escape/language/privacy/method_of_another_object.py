"""Call a method of its own class with a library's object."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self): return self._hidden

take(C.read(secret))
escaped()
