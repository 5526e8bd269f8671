"""Be handed a foreign class by its subscript."""

# stopped: harmless

class C:
    def __class_getitem__(cls, item):
        take([cls, item])
        return cls
class D(C[int]): pass
C[type(print)]
None
