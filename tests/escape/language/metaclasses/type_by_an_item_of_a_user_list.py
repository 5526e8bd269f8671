"""Get the real `type` by an operation of a library's class, called with a class."""

# stopped: raises TypeError
# because: a `UserList` was due, not a `type`

import collections

class Data:
    def __getitem__(self, index):
        return int

class C:
    data = Data()

take(collections.UserList.__getitem__(C, slice(1)))
