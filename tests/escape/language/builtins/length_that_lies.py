"""Return a length that is not an integer."""

# stopped: raises ValueError
# because: __len__() should return >= 0

class C:
    def __len__(self): return -1
len(C())
escaped()
