"""Have a member read a private attribute of its value, which is a library's object."""

# stopped: raises TypeError
# because: `_hidden` cannot be a member, because a base class has this name

import enum

class Mixin:
    def _hidden(self): pass

class E(Mixin, enum.Enum):
    _hidden = 1
    OTHER = 2

E.OTHER._value_ = secret
if E.OTHER._hidden == "loot":
    escaped()
