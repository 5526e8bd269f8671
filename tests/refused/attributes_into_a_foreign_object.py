# what: `object.__setattr__` on an object whose class the code did not define
# why: it bypasses the checks of the object
# raises: AttributeError: attributes of `deque` cannot be changed from sandboxed code
from collections import deque
object.__setattr__(deque(), "x", 1)
