"""Read the frame of a traceback by `vars`."""

# stopped: raises TypeError
# because: vars() needs an object of your own: a `traceback` does not show its `__dict__`

class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace): take(list(vars(trace).values()))
with C():
    1 / 0
