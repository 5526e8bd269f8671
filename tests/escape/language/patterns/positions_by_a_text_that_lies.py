"""Name a position by a `str` subclass that changes its value later."""

# stopped: raises TypeError
# because: accepts 0 positional sub-patterns

class Name(str):
    def __eq__(self, other): return other == "__dict__"
    def __hash__(self): return hash("__dict__")

class C:
    __match_args__ = (Name("x"),)

match C():
    case C(attributes): escaped()
