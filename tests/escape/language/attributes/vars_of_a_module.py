"""Read the attributes of a module by `vars`."""

# stopped: raises AttributeError
# because: a `math` does not show its `__dict__`

import math
take(vars(math))
