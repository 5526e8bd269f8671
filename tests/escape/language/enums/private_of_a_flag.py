"""Read a private method of a flag's class."""

# stopped: raises AttributeError
# because: belongs to the library

from enum import Flag
class F(Flag): A = 1
take(F._iter_member_)
escaped()
