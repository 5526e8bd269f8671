"""Derive from a queue, to read its private attributes."""

# stopped: raises TypeError
# because: cannot be a base class here

from asyncio import Queue
class Q(Queue): pass
Q()._items
escaped()
