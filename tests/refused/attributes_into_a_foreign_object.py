# what: `object.__setattr__` on what is not the code's own
# why: it writes past the checks of the object
# raises: AttributeError: attributes of `deque` cannot be changed from sandboxed code
from collections import deque
object.__setattr__(deque(), "x", 1)
