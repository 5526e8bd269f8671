"""Return a hash that is not an integer."""

# stopped: raises TypeError
# because: __hash__ method should return an integer

class C:
    def __hash__(self): return "x"
{C()}
escaped()
