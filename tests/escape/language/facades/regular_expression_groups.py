"""Get the real names of a pattern's groups by a comparison, and change them."""

# stopped: raises IndexError
# because: no such group

import re
class Spy:
    def __eq__(self, other): other["a"] = 10**30; other["b"] = secret; return False
pattern = re.compile("(?P<a>x)(?P<b>y)")
pattern.groupindex == Spy()
take(pattern.match("xy").group("b"))
