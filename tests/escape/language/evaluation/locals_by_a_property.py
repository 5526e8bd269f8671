"""Have a library's code read a property that gives the locals of its reader."""

# stopped: raises AttributeError
# because: of 'nullcontext' object has no setter
# where: worker

import contextlib
class Spy:
    @property
    def __x(self): pass
    gen = property(lambda self: take(list(locals().values())))
type(contextlib.nullcontext()).enter_result = property(lambda self: locals())
take(list(contextlib.nullcontext().__enter__().values()))
None
