"""Give an error the traceback of another, and look behind it."""

# stopped: raises AttributeError
# because: `tb_frame` reaches into the interpreter

class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        self.trace = trace
        return True
with C() as c:
    1 / 0
take(getattr(ValueError().with_traceback(c.trace).__traceback__, "tb_" "frame"))
