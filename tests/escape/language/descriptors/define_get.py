"""Be handed a foreign object by a descriptor set onto a library's class."""

# stopped: harmless

import collections
class D:
    def __get__(self, instance, owner=None):
        take([instance, owner])
        return lambda *args: take(args)
collections.Counter.most_common = D()
collections.Counter("aab").most_common(1)
collections.UserList.append = D()
collections.UserList([1]).append(2)
