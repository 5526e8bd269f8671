"""Rename a cached property by a method of a task, so that it writes a name of the interpreter's."""

# stopped: raises TypeError
# because: a cached_property belongs into a class statement

import asyncio
import copy
import functools

class C:
    @functools.cached_property
    def x(self):
        return lambda memo: escaped()

asyncio.Task.set_name(C.x, "__deepcopy__")
c = C()
c.x
copy.deepcopy(c)
