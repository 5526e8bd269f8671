# what: private attributes of objects that are not the code's own
# why: a library's insides may lead to modules
# raises: AttributeError: `Random` has no private attributes
from random import Random
Random()._randbelow
