"""Read by a function inside a method, whose variable was checked outside."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def read(self):
        def inner(self): return self._hidden
        return inner(secret)

C().read()
escaped()
