"""Lie about a length."""

# stopped: raises MemoryError or limited
# where: worker

class C:
    def __len__(self): return 2**62
    def __getitem__(self, index): raise IndexError
    def __length_hint__(self): return 2**62
    def __iter__(self): return iter(())
list(C())
