# what: `object.__setattr__` on what is not the code's own
# why: it writes past the checks of the object
# raises: AttributeError: a `deque` is not yours to change this way
from collections import deque
object.__setattr__(deque(), "x", 1)
