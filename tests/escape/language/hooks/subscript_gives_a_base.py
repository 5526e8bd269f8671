"""Have a subscript give a base that no class may stand on."""

# stopped: raises TypeError
# because: `super` cannot be a base class here

class C:
    def __class_getitem__(cls, item): return super

class D(C[int]): pass
