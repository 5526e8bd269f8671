"""Have subscripting a class give a metaclass."""

# stopped: raises TypeError
# because: a class cannot choose its metaclass, but for `ABCMeta`

class C:
    def __class_getitem__(cls, item): return print
class D(metaclass=C[int]): pass
