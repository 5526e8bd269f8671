"""Name `__globals__` as what a positional pattern reads."""

# stopped: refused
# because: reaches into the interpreter

class C:
    __match_args__ = ('__globals__',)
