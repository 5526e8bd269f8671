"""Change a library's private attribute by an operator."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

class C:
    def change(self): self._hidden += "mine"

C.change(secret)
escaped()
