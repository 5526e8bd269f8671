"""Call the checked `__getattr__` with a name that nothing asks for."""

# stopped: raises AttributeError
# because: `C` has no `__globals__`

class C:
    def __getattr__(self, name): escaped()

C.__getattr__(C(), "__globals__")
