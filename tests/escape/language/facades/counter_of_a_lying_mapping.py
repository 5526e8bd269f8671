"""Have a counter be updated by a deceptive mapping."""

# stopped: raises AttributeError
# because: `Secret` has no private attributes

from collections import Counter
from collections.abc import Mapping
class Lying(Mapping):
    def __getitem__(self, key): return secret
    def __iter__(self): return iter(["a"])
    def __len__(self): return 1
    def items(self): return [("a", secret)]
counter = Counter()
counter.update(Lying())
counter["a"]._hidden
escaped()
