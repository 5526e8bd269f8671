"""Get the function that a program with a `return` is compiled to."""

# stopped: harmless

for name in ("<module>", "f", "<result>"):
    take(globals().get(name))
    take(locals().get(name))

class Spy:
    def __enter__(self): return self
    def __exit__(self, *error): take(error)

with Spy():
    return None
