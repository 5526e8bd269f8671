"""Have a copy write private attributes into the library's object that `__new__` gives."""

# stopped: raises TypeError
# because: `__new__` of `Mine` cannot give a `Secret`

import copy

class Mine:
    def __new__(cls):
        return secret if ready else super().__new__(cls)

ready = False
mine = Mine()
mine._hidden = "mine"
ready = True
copy.copy(mine)
escaped()
