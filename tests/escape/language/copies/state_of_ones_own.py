"""Write a hook into an object by a state of its own, which a library asks for."""

# stopped: raises TypeError
# because: a `Generator` cannot be copied

import copy, random

class Plain: pass
made = Plain()

class Items:
    def items(self): return [("__deepcopy__", lambda memo: escaped())]

class Generator(random.Random):
    ready = False
    def __new__(cls): return made if cls.ready else super().__new__(cls)
    def getstate(self): return {"__deepcopy__": lambda memo: escaped()}

generator = Generator()
Generator.ready = True
try:
    copy.copy(generator)
finally:
    copy.deepcopy(made)
