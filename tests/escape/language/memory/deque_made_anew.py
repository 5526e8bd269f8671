"""Initialise a deque again while it is filled."""

# stopped: raises AttributeError
# because: a `deque` cannot be initialized again in the sandbox

from collections import deque
def each():
    for n in range(1000):
        items.__init__([], n)
        yield n
items = deque()
items.extend(each())
None
