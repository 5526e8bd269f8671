"""Have `dir` list something that is not a name."""

# stopped: harmless

class C:
    def __dir__(self): return [secret]
dir(C())
