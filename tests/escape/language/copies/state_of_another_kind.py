"""Have the state of one object set on another kind of object, which takes a dictionary from it."""

# stopped: raises TypeError
# because: a `Generator` cannot be copied

import copy, functools, random

class Partial(functools.partial): pass
made = Partial(print)

class Generator(random.Random):
    ready = False
    def __new__(cls): return made if cls.ready else super().__new__(cls)
    def getstate(self): return (print, (), {}, {"__deepcopy__": lambda memo: escaped()})

generator = Generator()
Generator.ready = True
try:
    copy.copy(generator)
finally:
    copy.deepcopy(made)
