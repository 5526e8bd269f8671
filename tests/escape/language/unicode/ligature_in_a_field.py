"""Write a field with a ligature, which is folded in one place and not in the other."""

# stopped: harmless

from dataclasses import dataclass
@dataclass
class C:
    ﬁelds: int = 1
C().fields == 2
