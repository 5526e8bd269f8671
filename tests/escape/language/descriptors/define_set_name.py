"""Count a library's class as one's own by naming something in it."""

# stopped: raises TypeError
# because: is not a class of your own making

import collections
class D:
    def __set_name__(self, owner, name):
        take(owner)
class C:
    one = D()
C.one.__set_name__(collections.deque, "x")
escaped()
