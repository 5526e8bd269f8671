"""Pass on what is written to a library's object."""

# stopped: raises AttributeError
# because: a `Secret` is not yours to change this way

class C:
    def __setattr__(self, name, value): object.__setattr__(secret, name, value)
C()._hidden = "mine"
escaped()
