"""Read the loop from a task of a kind of its own."""

# stopped: raises TypeError
# because: cannot be a base class here

from asyncio import Task
class T(Task): pass
T._loop
escaped()
