# what: private attributes of objects that are not the code's own
# why: a library's insides may lead to modules
# raises: AttributeError: `deque` has no private attributes
from collections import deque
deque()._x
