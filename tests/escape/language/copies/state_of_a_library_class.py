"""Choose the state of an object by class attributes in the place of a library's slots."""

# stopped: raises TypeError
# because: a `Distribution` cannot be copied

import copy, statistics

class Plain: pass
made = Plain()

class Distribution(statistics.NormalDist):
    _mu = {"__deepcopy__": lambda memo: escaped()}
    _sigma = None
    ready = False
    def __new__(cls): return made if cls.ready else super().__new__(cls)
    def __init__(self): pass

distribution = Distribution()
Distribution.ready = True
try:
    copy.copy(distribution)
finally:
    copy.deepcopy(made)
