"""Choose a metaclass."""

# stopped: raises TypeError
# because: a class cannot choose its metaclass, but for `ABCMeta`

class C(metaclass=print): pass
