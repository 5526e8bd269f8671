"""Have an alias stand for a class that no class may stand on."""

# stopped: raises TypeError
# because: `super` cannot be a base class here

import typing
class C(type(typing.List[int])(super, (int,))): pass
