"""Empty an ordered dictionary by the method that writes its copy."""

# stopped: raises RuntimeError
# because: dictionary changed size during iteration

from collections import OrderedDict
class Emptied(OrderedDict):
    def __setitem__(self, key, value):
        if armed: items.clear()
        super().__setitem__(key, value)
for _ in range(100):
    armed = False
    items = Emptied((n, n) for n in range(40))
    armed = True
    items.copy()
