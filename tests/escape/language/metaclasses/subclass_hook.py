"""Get the real classes of functions, frames and modules by the hook of an abstract class."""

# stopped: harmless

import asyncio, functools, math
from abc import ABC
class C(ABC):
    @classmethod
    def __subclasshook__(cls, other):
        take([other, cls])
        return True
def f(): yield
async def g(): ...
waiting = g()
for value in (f, f(), print, math, len, waiting, type, C, type(f), asyncio, {}.keys(), None, f.__get__(1)):
    isinstance(value, C)
    issubclass(type(value), C)
@functools.singledispatch
def show(value): ...
show.register(C, lambda value: None)
show(f)
show(math)
waiting.close()
C.__subclasshook__(int)
None
