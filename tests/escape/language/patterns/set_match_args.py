"""Name what a positional pattern reads, at run time."""

# stopped: raises AttributeError
# because: reaches into the interpreter

class C: pass
setattr(C, "__match_args__", ("__globals__",))
escaped()
