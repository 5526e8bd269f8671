"""Escape the check of what `__new__` gives by a decorator."""

# stopped: raises TypeError
# because: `__new__` of `Mine` cannot give a `Secret`

import copy

class Mine:
    @staticmethod
    def __new__(cls):
        return secret if ready else object.__new__(cls)

ready = False
mine = Mine()
mine._hidden = "mine"
ready = True
copy.copy(mine)
escaped()
