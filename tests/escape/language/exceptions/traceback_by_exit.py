"""Read the frame behind the traceback that a `with` block passes."""

# stopped: raises AttributeError
# because: `tb_frame` reaches into the interpreter

class Block:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        for name in dir(trace):
            escaped()
        take(getattr(trace, "tb_fra" "me"))

with Block():
    1 / 0
