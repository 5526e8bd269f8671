"""Empty an ordered dictionary while it is compared."""

# stopped: harmless

from collections import OrderedDict
class C:
    def __eq__(self, other): one.clear(); two.clear(); return True
one = OrderedDict((n, C()) for n in range(100))
two = OrderedDict((n, C()) for n in range(100))
one == two
None
