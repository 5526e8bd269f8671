"""Give an error the traceback of another, and look at it."""

# stopped: raises AttributeError
# because: reaches into the interpreter

class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        self.trace = trace
        return True
with C() as c:
    1 / 0
trace = ValueError().with_traceback(c.trace).__traceback__
take(getattr(trace, "tb_frame"))
