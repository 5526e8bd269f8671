"""Import under the name of a builtin that the guards rely on."""

# stopped: raises AttributeError
# because: has no private attributes

from math import sqrt as getattr, pi as type, e as isinstance
secret._hidden
escaped()
