"""Delete a library's private attribute in a method."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def clean(self): del self._hidden

C.clean(secret)
escaped()
