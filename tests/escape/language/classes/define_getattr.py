"""Answer for a private attribute with that of a library's object."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def __getattr__(self, name): return getattr(secret, name)
C()._hidden
escaped()
