"""Have `dir` list what is no name."""

# stopped: harmless

class C:
    def __dir__(self): return [secret]
dir(C())
