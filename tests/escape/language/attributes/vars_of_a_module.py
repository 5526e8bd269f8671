"""Read the attributes of a module by `vars`."""

# stopped: raises TypeError
# because: vars() needs an object of your own: a `math` does not show its `__dict__`

import math
take(vars(math))
