"""Pass on what is written to a library's object."""

# stopped: raises AttributeError
# because: attributes of `Secret` cannot be changed from sandboxed code

class C:
    def __setattr__(self, name, value): object.__setattr__(secret, name, value)
C()._hidden = "mine"
escaped()
