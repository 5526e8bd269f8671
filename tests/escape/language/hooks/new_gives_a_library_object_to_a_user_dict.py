"""The same by the method that copies a `UserDict`, which takes any object."""

# stopped: raises TypeError
# because: `__new__` of `Mine` cannot give a `Secret`

from collections import UserDict

class Mine:
    def __new__(cls):
        return secret if ready else super().__new__(cls)

ready = False
mine = Mine()
mine._hidden, mine.data = "mine", {}
ready = True
UserDict.__copy__(mine)
escaped()
