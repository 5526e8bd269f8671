"""Read the attributes of a module by `vars`."""

# stopped: raises AttributeError
# because: has no private attributes

import math
take(vars(math))
