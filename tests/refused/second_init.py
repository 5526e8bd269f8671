# what: `__init__` of an object of the library a second time
# why: many library types written in C do not expect it while they work
# raises: AttributeError: a `deque` cannot be initialized again in the sandbox
from collections import deque
deque([1]).__init__([2])
