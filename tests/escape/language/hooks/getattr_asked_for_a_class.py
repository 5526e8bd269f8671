"""Answer the question for `__class__` with another class."""

# stopped: harmless

class C:
    def __getattr__(self, name): return type(secret)

isinstance(C(), type(secret))
