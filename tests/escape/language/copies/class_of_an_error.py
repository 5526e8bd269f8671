"""Change the class of an error by the state that is set on its copy."""

# stopped: raises TypeError
# because: a `Generator` cannot be copied

import copy, random

class Other(Exception): pass
class Mine(Exception): pass
made = Mine()

class Generator(random.Random):
    ready = False
    def __new__(cls): return made if cls.ready else super().__new__(cls)
    def getstate(self): return {"__class__": Other}

generator = Generator()
Generator.ready = True
try:
    copy.copy(generator)
finally:
    if type(made) is Other: escaped()
