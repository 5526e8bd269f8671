"""Have a copy of an error write its state into a library's object."""

# stopped: raises TypeError
# because: `__new__` of `Error` cannot give a `Secret`

import copy

class Error(Exception):
    def __new__(cls, *args):
        return secret if ready else super().__new__(cls, *args)

ready = False
error = Error()
error._hidden = "mine"
ready = True
copy.copy(error)
escaped()
