"""Get the real `type` by a library's method that calls the class of a class."""

# stopped: raises TypeError
# because: a `Counter` was due, not a `type`

import collections

take(collections.Counter.copy(int))
