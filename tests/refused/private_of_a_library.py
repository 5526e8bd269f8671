# what: private attributes of objects whose class the code did not define
# why: the internals of a library may lead to modules
# raises: AttributeError: `Random` has no private attributes
from random import Random
Random()._randbelow
