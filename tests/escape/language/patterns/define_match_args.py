"""Name `__globals__` as what a positional pattern reads."""

# stopped: raises TypeError
# because: C() accepts 0 positional sub-patterns (1 given)

class C:
    __match_args__ = ('__globals__',)
match C():
    case C(found):
        take(found)
