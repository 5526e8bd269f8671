"""Derive from the alias of a queue."""

# stopped: raises TypeError
# because: cannot be a base class here

from asyncio import Queue
class Q(Queue[int]): pass
Q()._items
escaped()
