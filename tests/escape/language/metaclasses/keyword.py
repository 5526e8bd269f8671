"""Choose a metaclass."""

# stopped: refused
# because: a class cannot choose its metaclass

class C(metaclass=print): pass
