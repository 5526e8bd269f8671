"""Read the frame of a traceback by a pattern."""

# stopped: refused
# because: reaches into the interpreter

class C:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        match trace:
            case object(tb_frame=found): take(found)
with C():
    1 / 0
