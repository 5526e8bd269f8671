"""Have a pattern read beyond the end of a sequence that shrinks."""

# stopped: raises ValueError
# because: not enough values to unpack (expected at least 1, got 0)

from collections.abc import Sequence

class Shrinking(Sequence):
    def __len__(self): return 3
    def __getitem__(self, index): raise IndexError(index)

match Shrinking():
    case [first, *rest]:
        take(first)
